/** The adapter's session: the contract's methods on top of a lane. */
import type {
  AdapterContext,
  AdapterSession,
  CallContext,
  Caller,
  CatalogueItem,
  Change,
  Health,
  Introduction,
  JsonObject,
  Outcome,
  ToolDefinition,
} from "../contract.ts";
import { UpstreamError, UpstreamRpcError } from "../contract.ts";
import { drain } from "./drain.ts";
import { failureOf } from "./failures.ts";
import { type Lane, OWN_REQUEST_MS } from "./lane.ts";
import { type ParamHeader, paramHeaders, paramHeadersOf } from "./param-headers.ts";
import { type Peer, thrown } from "./peer.ts";

/** MCP 2026-07-28: the headers of a request do not match its body, so it was not processed. */
const HEADER_MISMATCH = -32020;
const METHOD_NOT_FOUND = -32601;

export class McpSession implements AdapterSession {
  readonly #context: AdapterContext;
  readonly #lane: Lane;
  readonly #listeners: Set<(change: Change) => void>;
  readonly #overHttp: boolean;
  /** Tools whose arguments go along as headers, as of the last list. */
  #paramHeaders = new Map<string, ParamHeader[]>();
  #closing: Promise<void> | undefined;

  constructor(options: {
    context: AdapterContext;
    lane: Lane;
    listeners: Set<(change: Change) => void>;
    overHttp: boolean;
  }) {
    this.#context = options.context;
    this.#lane = options.lane;
    this.#listeners = options.listeners;
    this.#overHttp = options.overHttp;
  }

  introduction(): Introduction {
    return this.#lane.introduction();
  }

  async listTools(): Promise<ToolDefinition[]> {
    const items = await this.#list("tools", "tools/list", "tools", "name");
    const headers = new Map<string, ParamHeader[]>();
    const tools: ToolDefinition[] = [];
    for (const item of items) {
      const { name, inputSchema } = item;
      if (typeof name !== "string" || !isObject(inputSchema)) {
        this.#context.log.warn({ tool: name }, "a tool without an input schema was left out");
        continue;
      }
      const found = this.#overHttp && this.#isModern() ? paramHeadersOf(inputSchema) : { headers: [] };
      if ("invalid" in found) {
        this.#context.log.warn({ tool: name, why: found.invalid }, "a tool with an invalid x-mcp-header was left out");
        continue;
      }
      if (found.headers.length > 0) headers.set(name, found.headers);
      tools.push({ ...item, name, inputSchema });
    }
    this.#paramHeaders = headers;
    return tools;
  }

  listResources(): Promise<CatalogueItem[]> {
    return this.#list("resources", "resources/list", "resources", "uri");
  }

  listResourceTemplates(): Promise<CatalogueItem[]> {
    return this.#list("resources", "resources/templates/list", "resourceTemplates", "uriTemplate");
  }

  listPrompts(): Promise<CatalogueItem[]> {
    return this.#list("prompts", "prompts/list", "prompts", "name");
  }

  async callTool(action: string, args: JsonObject, call: CallContext): Promise<Outcome> {
    const params = { name: action, arguments: args };
    const send = () => {
      const headers = paramHeaders(this.#paramHeaders.get(action) ?? [], args);
      return this.#exchange("tools/call", params, call, headers);
    };
    try {
      return await send();
    } catch (error) {
      const mismatch = error instanceof UpstreamRpcError && error.rpcCode === HEADER_MISMATCH;
      if (!mismatch || !this.#overHttp || call.signal.aborted) throw error;
      // The tool's headers changed, or were never listed in this session. The upstream has refused the call unread.
      const before = JSON.stringify(this.#paramHeaders.get(action));
      await this.listTools();
      if (JSON.stringify(this.#paramHeaders.get(action)) === before) throw error;
      return send();
    }
  }

  readResource(uri: string, call: CallContext): Promise<Outcome> {
    return this.#exchange("resources/read", { uri }, call);
  }

  getPrompt(name: string, args: Record<string, string> | undefined, call: CallContext): Promise<Outcome> {
    return this.#exchange("prompts/get", args ? { name, arguments: args } : { name }, call);
  }

  async complete(params: JsonObject, call: CallContext): Promise<JsonObject> {
    return (await this.#exchange("completion/complete", params, call)).result;
  }

  async check(): Promise<Health> {
    try {
      await this.#lane.own(async (peer) => {
        if (peer.modern) await peer.ask("server/discover", {}, OWN_REQUEST_MS);
        else await ping(peer, OWN_REQUEST_MS);
      });
      return { state: "healthy" };
    } catch (error) {
      const failure = failureOf(error);
      if (failure instanceof UpstreamRpcError)
        return { state: "unhealthy", code: "upstream_protocol", message: failure.message };
      const code = failure instanceof UpstreamError ? failure.code : "authentication_required";
      return { state: "unhealthy", code, message: failure.message };
    }
  }

  subscribe(uri: string, caller: Caller): Promise<void> {
    return mapped(this.#lane.subscribe(uri, caller));
  }

  unsubscribe(uri: string, caller: Caller): Promise<void> {
    return mapped(this.#lane.unsubscribe(uri, caller));
  }

  setLogLevel(level: string, caller: Caller): Promise<void> {
    return mapped(this.#lane.setLogLevel(level, caller));
  }

  forget(callerKey: string): Promise<void> {
    return mapped(this.#lane.forget(callerKey));
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#lane.close();
    return this.#closing;
  }

  #isModern(): boolean {
    const { protocol } = this.#lane.introduction();
    return protocol !== undefined && protocol >= "2026";
  }

  async #list(capability: string, method: string, key: string, identity: string): Promise<JsonObject[]> {
    const { log } = this.#context;
    try {
      return await this.#lane.own(async (peer) => {
        if (!peer.offers(capability)) return [];
        const page = (cursor: string | undefined) =>
          peer.ask(method, cursor === undefined ? {} : { cursor }, OWN_REQUEST_MS);
        return drain({ key, identity, page, log });
      });
    } catch (error) {
      const failure = failureOf(error);
      // Servers that offer resources but no templates say so only here.
      if (failure instanceof UpstreamRpcError && failure.rpcCode === METHOD_NOT_FOUND && method !== "tools/list")
        return [];
      throw failure;
    }
  }

  async #exchange(
    method: string,
    params: JsonObject,
    call: CallContext,
    headers?: Record<string, string>,
  ): Promise<Outcome> {
    const { resume } = call;
    const full = {
      ...params,
      ...(resume?.inputResponses ? { inputResponses: resume.inputResponses } : {}),
      ...(resume?.requestState === undefined ? {} : { requestState: resume.requestState }),
    };
    let result: JsonObject;
    try {
      result = await this.#lane.call(call, (peer) => peer.request(method, full, call, headers));
    } catch (error) {
      throw thrown(error, call);
    }
    if (result["resultType"] !== "input_required") return { kind: "result", result };
    const { inputRequests, requestState } = result;
    return {
      kind: "input_required",
      inputRequests: isObject(inputRequests) ? inputRequests : {},
      ...(typeof requestState === "string" ? { requestState } : {}),
      result,
    };
  }
}

async function ping(peer: Peer, timeoutMs: number): Promise<void> {
  try {
    await peer.ask("ping", {}, timeoutMs);
  } catch (error) {
    // A server that does not know `ping` has answered all the same.
    const failure = failureOf(error);
    if (!(failure instanceof UpstreamRpcError) || failure.rpcCode !== METHOD_NOT_FOUND) throw error;
  }
}

async function mapped<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw failureOf(error);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
