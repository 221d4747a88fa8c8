/** The session of an OpenAPI connection. It needs the document to list tools, and never to call one. */
import {
  type AdapterContext,
  type AdapterSession,
  type CallContext,
  type Health,
  type Introduction,
  type JsonObject,
  type Outcome,
  type ToolDefinition,
  UpstreamError,
} from "../contract.ts";
import { callOperation } from "../http-request/call.ts";
import { reachable } from "../http-request/reachable.ts";
import type { OpenApiConfig } from "./config.ts";
import { configDigest, type Remembered, recall, remember } from "./memory.ts";
import { identityOf } from "./names.ts";
import { Plans, unpackSchema } from "./packed.ts";
import { type ReadDocument, readDocument } from "./reader.ts";
import { documentBytes } from "./source.ts";

/** Milliseconds after which another process may have read a newer document. */
const FRESH_MS = 60_000;
const MAX_TOLD = 20;

interface Known {
  readonly remembered: Remembered;
  readonly plans: Plans;
  readonly readAt: number;
}

export class OpenApiSession implements AdapterSession {
  readonly #context: AdapterContext;
  readonly #config: OpenApiConfig;
  #known: Known | undefined;

  private constructor(context: AdapterContext, config: OpenApiConfig) {
    this.#context = context;
    this.#config = config;
  }

  /** Reads the document only where nothing is remembered of it. @throws UpstreamError where it cannot be read */
  static async open(context: AdapterContext, config: OpenApiConfig): Promise<OpenApiSession> {
    const session = new OpenApiSession(context, config);
    await session.#recall();
    if (session.#known === undefined) await session.#load();
    return session;
  }

  introduction(): Introduction {
    const { title, description } = this.#known?.remembered ?? {};
    return {
      ...(title ? { serverInfo: { name: title } } : {}),
      ...(description ? { instructions: description } : {}),
      protocol: "openapi",
    };
  }

  async listTools(): Promise<ToolDefinition[]> {
    return (await this.#load()).tools;
  }

  async wholeSchema(action: string): Promise<JsonObject | undefined> {
    const known = await this.#fresh(action);
    const { wholes = "" } = known?.remembered ?? {};
    return wholes === "" ? undefined : unpackSchema(wholes, action);
  }

  async callTool(action: string, args: JsonObject, call: CallContext): Promise<Outcome> {
    call.signal.throwIfAborted();
    const known = await this.#fresh(action);
    const plan = known?.plans.get(action);
    if (known === undefined || plan === undefined) {
      throw new UpstreamError("upstream_protocol", `The document has no operation ${action} any more.`, {
        processed: "no",
      });
    }
    const { baseUrl, deepLists } = this.#config;
    const operation = { plan, schemes: known.remembered.schemes, options: { baseUrl, deepLists } };
    return callOperation(this.#context, operation, args, call);
  }

  async check(): Promise<Health> {
    const [origin] = this.#known?.remembered.origins ?? [];
    return reachable(this.#context, this.#config.baseUrl ?? origin);
  }

  async close(): Promise<void> {
    this.#known = undefined;
  }

  async #recall(): Promise<void> {
    const remembered = recall(await this.#context.memory.read());
    if (remembered === undefined || remembered.config !== configDigest(this.#context.config)) return;
    const readAt = this.#context.clock();
    const same = this.#known?.remembered.plans === remembered.plans ? this.#known.plans : undefined;
    this.#known = { remembered, plans: same ?? (await Plans.unpack(remembered.plans)), readAt };
  }

  async #fresh(action: string): Promise<Known | undefined> {
    const known = this.#known;
    const old = known === undefined || this.#context.clock() - known.readAt > FRESH_MS;
    if (old || known.plans.get(action) === undefined) await this.#recall();
    return this.#known;
  }

  async #load(): Promise<ReadDocument> {
    const { config, memory, log } = this.#context;
    const { source, baseUrl, variables, overrides, deprecated, idempotencyHeader } = this.#config;
    const bytes = await documentBytes(this.#context, source);
    const before = recall(await memory.read());
    // A document that is fetched again may name other servers; credentials do not follow it there.
    const origins = baseUrl === undefined && before?.config === configDigest(config) ? before.origins : undefined;
    const document = await readDocument({
      bytes,
      options: {
        ...(source.kind === "url" ? { specUrl: source.url } : {}),
        ...(baseUrl === undefined ? {} : { baseUrl }),
        ...(idempotencyHeader === undefined ? {} : { idempotencyHeader }),
        variables,
        overrides,
        deprecated,
        names: await namesOf(before),
      },
      ...(origins === undefined ? {} : { origins }),
    });
    const { skipped, warnings } = document;
    // What is remembered still works, as far as anybody can tell.
    if (document.tools.length === 0 && skipped.length > 0) {
      throw new UpstreamError("upstream_protocol", `No operation can be called: ${skipped[0]?.reason ?? ""}.`, {
        processed: "no",
      });
    }
    const next = remember(config, document, origins ?? document.origins);
    if (before?.plans !== document.plans || before.wholes !== document.wholes || before.config !== next["config"])
      await memory.write(next);
    const remembered = recall(next);
    if (remembered !== undefined) {
      this.#known = { remembered, plans: await Plans.unpack(document.plans), readAt: this.#context.clock() };
    }
    if (skipped.length + warnings.length > 0) {
      const told = { skipped: skipped.slice(0, MAX_TOLD), warnings: warnings.slice(0, MAX_TOLD) };
      const count = `${skipped.length} operations were skipped, ${warnings.length} warnings`;
      log.info({ ...told, operations: document.tools.length }, `the document was read: ${count}`);
    }
    return document;
  }
}

async function namesOf(before: Remembered | undefined): Promise<[string, string][]> {
  if (before === undefined) return [];
  const names: [string, string][] = [];
  for (const [action, plan] of (await Plans.unpack(before.plans)).entries()) names.push([identityOf(plan), action]);
  return names;
}
