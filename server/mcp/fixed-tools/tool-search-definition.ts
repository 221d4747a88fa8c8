/** The definition of `tool_search`, written for the caller's catalogue and bounded whatever its size. */
import type { ToolDefinition } from "../../../adapters/contract.ts";
import { MAX_LIMIT, MAX_QUERIES } from "./search-arguments.ts";
import { connectionsLine } from "./search-connections.ts";
import type { ToolsetView } from "./tool-search.ts";

/** Characters of connection names in the description; about 60 tokens. */
const MAX_CONNECTIONS_LINE = 180;

/** The definition as a caller of this toolset sees it. */
export function toolSearchDefinition(toolset: ToolsetView): ToolDefinition {
  const connected = connectionsLine(toolset, MAX_CONNECTIONS_LINE);
  return {
    name: "tool_search",
    title: "Search tools",
    description:
      "Searches the tools of connected external services (apps, APIs, databases); it does not search the web or their content. " +
      'Call it before saying that something cannot be done. Name the app and the action: "create an issue in GitHub". ' +
      "For a task of several steps send one short sub-query per step in queries. Write English; if the user does not, add a sub-query in the user's words. " +
      'Use connection when you know the service; query "select:a__x,b__y" fetches exactly these definitions; connection alone lists its tools; no arguments list the connections. ' +
      `Call what you find by its name, or through tool_read or tool_write.${connected ? ` Connected: ${connected}.` : ""}`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "One need, or select:name,name" },
        queries: {
          type: "array",
          items: { type: "string" },
          maxItems: MAX_QUERIES,
          description: "One per step",
        },
        connection: {
          anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
          description: "Connection ids or prefixes",
        },
        access: { type: "string", enum: ["read", "write"] },
        limit: { type: "integer", minimum: 1, maximum: MAX_LIMIT, description: "Default 5" },
        detail: {
          type: "string",
          enum: ["names", "signatures", "full"],
          description: "Default: 3 full definitions, then less",
        },
        activate: { type: "boolean", description: "false: do not add what is found to the tool list" },
        cursor: { type: "string", description: "nextCursor, with the same arguments" },
      },
    },
    outputSchema: {
      type: "object",
      properties: {
        tools: {
          type: "array",
          items: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        },
        confidence: { type: "string", enum: ["high", "low", "none"] },
        total: { type: "integer" },
        connections: { type: "array", items: { type: "object" } },
      },
      required: ["tools", "confidence", "total"],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}
