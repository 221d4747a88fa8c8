/** The tools that every caller always sees. Together they stay under 900 tokens whatever is connected. */
import type { ToolDefinition } from "../../../adapters/contract.ts";
import { PACKET_PROPERTY } from "../../gateway/pairing-tools.ts";
import type { Toolset } from "../../gateway/toolset.ts";
import { toolSearchDefinition } from "./tool-search.ts";

/** Hosts that defer tools keep these loaded (Claude Code reads the first key). */
const KEEP_LOADED = { "anthropic/alwaysLoad": true };

const TOOL_READ: ToolDefinition = {
  name: "tool_read",
  title: "Call a read tool",
  description:
    "Calls a tool of a connected service that only reads, by the name tool_search gave. Use it when that tool is not offered to you directly.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", description: "Full tool name, e.g. tracker__get_issue" },
      arguments: { type: "object", description: "The tool's own arguments", additionalProperties: true },
    },
    required: ["name"],
  },
  annotations: { readOnlyHint: true, openWorldHint: true },
  _meta: KEEP_LOADED,
};

const TOOL_WRITE: ToolDefinition = {
  name: "tool_write",
  title: "Call a tool that changes things",
  description:
    "Calls any tool of a connected service, also one that creates, changes, sends or deletes, by the name tool_search gave. Prefer tool_read for tools with access read.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", description: "Full tool name" },
      arguments: { type: "object", description: "The tool's own arguments", additionalProperties: true },
      approval: { type: "string", description: "Id of a granted approval" },
    },
    required: ["name"],
  },
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  _meta: KEEP_LOADED,
};

const PAIR: ToolDefinition = {
  name: "pair",
  title: "Pair an account",
  description:
    "Redeems a one-time pairing packet that the user pasted, so that a connection gets its account. Pass the whole packet unchanged and never repeat it.",
  inputSchema: {
    type: "object",
    properties: {
      packet: PACKET_PROPERTY,
      connection: { type: "string", description: "Needed when several connections can pair" },
    },
    required: ["packet"],
  },
  annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  _meta: KEEP_LOADED,
};

const made = new WeakMap<Toolset, ToolDefinition[]>();

/** The fixed tools as this caller sees them; the search tool's description tells what it reaches. */
export function fixedDefinitions(toolset: Toolset): ToolDefinition[] {
  let definitions = made.get(toolset);
  if (!definitions) {
    definitions = [{ ...toolSearchDefinition(toolset), _meta: KEEP_LOADED }, TOOL_READ, TOOL_WRITE, PAIR];
    made.set(toolset, definitions);
  }
  return definitions;
}
