/**
 * Takes a connection's own secrets out of everything its service says. A service may echo what it was sent, in a
 * result as well as in an error; the credential is not its to tell (design, section 4, step 9).
 */
import {
  type AdapterSession,
  type CallContext,
  type Log,
  type ToolDefinition,
  UpstreamError,
  UpstreamRpcError,
} from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import { takeTurns } from "./turns.ts";

/** Shorter values would be found in texts that have nothing to do with them. */
const SHORTEST = 8;
/** Values of one session that are looked for: a token is renewed now and then. */
const MOST = 16;
const SCRUBBED = "[secret]";
const DEEPEST = 128;

export interface Scrubber {
  /** From now on the value is taken out. */
  learn(secret: string): void;
  text(text: string): string;
  /** A JSON value without the secrets; the same object where there is none in it. */
  value<T>(value: T): T;
  error(error: unknown): unknown;
  /**
   * The same content, which cannot be changed without breaking it: reading it fails with `asset_refused` where one of
   * the secrets is in it.
   */
  file(content: Uint8Array | ReadableStream<Uint8Array>): ReadableStream<Uint8Array>;
}

export function createScrubber(): Scrubber {
  const known = new Set<string>();
  let forms: string[] = [];

  const text = (given: string): string => {
    let clean = given;
    for (const form of forms) if (clean.includes(form)) clean = clean.replaceAll(form, SCRUBBED);
    return clean;
  };

  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return text(value);
    if (typeof value !== "object" || value === null || depth > DEEPEST) return value;
    if (Array.isArray(value)) {
      const items = value.map((item: unknown) => walk(item, depth + 1));
      return items.some((item, index) => item !== value[index]) ? items : value;
    }
    const entries = Object.entries(value);
    const clean = entries.map(([key, item]) => [text(key), walk(item, depth + 1)] as const);
    const same = clean.every(([key, item], index) => key === entries[index]?.[0] && item === entries[index]?.[1]);
    return same ? value : Object.fromEntries(clean);
  };

  function clean<T>(value: T): T;
  function clean(value: unknown): unknown {
    return forms.length === 0 ? value : walk(value, 0);
  }

  return {
    learn(secret) {
      if (secret.length < SHORTEST || known.has(secret)) return;
      known.add(secret);
      const [oldest] = known;
      if (known.size > MOST && oldest !== undefined) known.delete(oldest);
      forms = [...new Set([...known].flatMap((value) => [value, encodeURIComponent(value)]))];
    },
    text,
    value: clean,
    file: (content) => ReadableStream.from(withoutSecrets(content, forms)),
    error(error) {
      if (forms.length === 0 || !chain(error).some((link) => text(wordsOf(link)) !== wordsOf(link))) return error;
      // Made anew without its cause, whose words a log would tell.
      if (error instanceof UpstreamError) {
        const { code, message, processed, detail } = error;
        return new UpstreamError(code, text(message), {
          processed,
          ...(detail === undefined ? {} : { detail: text(detail) }),
        });
      }
      if (error instanceof UpstreamRpcError) {
        return new UpstreamRpcError(error.rpcCode, text(error.message), clean(error.data));
      }
      return new UpstreamError("upstream_protocol", text(error instanceof Error ? error.message : String(error)));
    },
  };
}

/** A secret may begin in one chunk and end in the next. */
async function* withoutSecrets(
  content: Uint8Array | ReadableStream<Uint8Array>,
  forms: readonly string[],
): AsyncGenerator<Uint8Array> {
  const wanted = forms.map((form) => Buffer.from(form));
  const longest = Math.max(1, ...wanted.map(({ length }) => length));
  let end = Buffer.alloc(0);
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    const seen = Buffer.concat([end, chunk]);
    if (wanted.some((secret) => seen.includes(secret))) throw new JackfieldError("asset_refused");
    end = Buffer.from(seen.subarray(Math.max(0, seen.length - longest + 1)));
    yield chunk;
  }
}

/** A log that the secrets do not reach, whatever an adapter tells it of a service's answers. */
export function scrubbedLog(log: Log, scrubber: Scrubber): Log {
  const at =
    (level: keyof Log) =>
    (details: object, message: string): void => {
      const clean = Object.entries(details).map(([key, value]) => [
        key,
        value instanceof Error ? scrubber.error(value) : scrubber.value(value),
      ]);
      log[level](Object.fromEntries(clean), scrubber.text(message));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A session whose answers, errors and messages hold none of the secrets. */
export function scrubbedSession(session: AdapterSession, scrubber: Scrubber): AdapterSession {
  const clean = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return scrubber.value(await work);
    } catch (error) {
      throw scrubber.error(error);
    }
  };
  const heard = (call: CallContext): CallContext => {
    const { progress, notify, ask, assets } = call;
    return {
      ...call,
      assets: {
        put: (content, about) => assets.put(scrubber.file(content), about),
        read: (handle) => assets.read(handle),
      },
      ...(progress && { progress: (update) => progress(scrubber.value(update)) }),
      ...(notify && { notify: (notification) => notify(scrubber.value(notification)) }),
      ...(ask && { ask: (question) => ask(scrubber.value(question)) }),
    };
  };
  const { listResources, listResourceTemplates, readResource, listPrompts, getPrompt, complete } = session;
  const { subscribe, unsubscribe, setLogLevel, forget, onChange, wholeSchema } = session;
  return {
    introduction: () => scrubber.value(session.introduction()),
    async listTools() {
      const turns = takeTurns();
      const tools: ToolDefinition[] = [];
      for (const tool of await session.listTools().catch((error: unknown) => Promise.reject(scrubber.error(error)))) {
        await turns.pass();
        tools.push(scrubber.value(tool));
      }
      return tools;
    },
    callTool: (action, args, call) => clean(session.callTool(action, args, heard(call))),
    check: () => clean(session.check()),
    close: () => session.close(),
    ...(wholeSchema && { wholeSchema: (action) => clean(wholeSchema.call(session, action)) }),
    ...(listResources && { listResources: () => clean(listResources.call(session)) }),
    ...(listResourceTemplates && { listResourceTemplates: () => clean(listResourceTemplates.call(session)) }),
    ...(readResource && { readResource: (uri, call) => clean(readResource.call(session, uri, heard(call))) }),
    ...(listPrompts && { listPrompts: () => clean(listPrompts.call(session)) }),
    ...(getPrompt && { getPrompt: (name, args, call) => clean(getPrompt.call(session, name, args, heard(call))) }),
    ...(complete && { complete: (params, call) => clean(complete.call(session, params, heard(call))) }),
    ...(subscribe && { subscribe: (uri, caller) => clean(subscribe.call(session, uri, caller)) }),
    ...(unsubscribe && { unsubscribe: (uri, caller) => clean(unsubscribe.call(session, uri, caller)) }),
    ...(setLogLevel && { setLogLevel: (level, caller) => clean(setLogLevel.call(session, level, caller)) }),
    ...(forget && { forget: (callerKey) => clean(forget.call(session, callerKey)) }),
    ...(onChange && {
      onChange: (listener) => onChange.call(session, (change) => listener(scrubber.value(change))),
    }),
  };
}

/** The error and its causes. */
function chain(error: unknown): unknown[] {
  const links: unknown[] = [];
  for (let link = error; link !== undefined && link !== null && links.length < 8; ) {
    links.push(link);
    link = link instanceof Error ? link.cause : undefined;
  }
  return links;
}

/** Everything an error would tell a caller or a log. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const detail: unknown = Reflect.get(error, "detail");
  const data = error instanceof UpstreamRpcError ? JSON.stringify(error.data) : "";
  return [error.message, error.stack, typeof detail === "string" ? detail : "", data].join("\n");
}
