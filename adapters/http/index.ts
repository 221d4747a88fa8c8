/** The adapter for HTTP APIs without a document: endpoints declared by hand. */
import {
  type Adapter,
  type AdapterContext,
  type AdapterSession,
  type JsonObject,
  type ToolDefinition,
  UpstreamError,
} from "../contract.ts";
import { present } from "../http-request/arguments.ts";
import { callOperation, failureOf } from "../http-request/call.ts";
import { objectOf, own } from "../http-request/json.ts";
import { reachable } from "../http-request/reachable.ts";
import { configSchema, readConfig } from "./config.ts";
import { operationOf } from "./endpoints.ts";

export const httpAdapter: Adapter = {
  type: "http",
  configSchema,

  /** Fills in the defaults that the endpoint declares, so that guards and approval see them. Null is absent. */
  prepare: (tool, args) => ({ args: { ...defaultsOf(tool), ...present(args, "") } }),

  async open(context: AdapterContext): Promise<AdapterSession> {
    try {
      context.signal.throwIfAborted();
      return openSession(context);
    } catch (error) {
      throw failureOf(error);
    }
  },
};

function openSession(context: AdapterContext): AdapterSession {
  const { baseUrl, endpoints } = readConfig(context.config);
  const operations = new Map(endpoints.map((endpoint) => [endpoint.name, operationOf(endpoint, baseUrl)]));
  return {
    introduction: () => ({ protocol: "http" }),
    listTools: async () => [...operations.values()].map(({ tool }) => structuredClone(tool)),
    async callTool(action, args, call) {
      const operation = operations.get(action);
      if (operation === undefined) {
        throw new UpstreamError("upstream_protocol", `There is no endpoint ${action} any more.`, { processed: "no" });
      }
      const { plan, arrange } = operation;
      return callOperation(context, { plan, schemes: {}, options: {} }, arrange(args), call);
    },
    check: () => reachable(context, baseUrl),
    close: async () => undefined,
  };
}

function defaultsOf(tool: ToolDefinition): JsonObject {
  const entries = Object.entries(objectOf(tool.inputSchema["properties"])).map(
    ([name, schema]) => [name, own(schema, "default")] as const,
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
