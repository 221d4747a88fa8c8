/** One call of an operation, from the arguments to the result. Both adapters call through here. */
import { randomUUID } from "node:crypto";
import {
  type AdapterContext,
  type Assets,
  type CallContext,
  type JsonObject,
  type Outcome,
  UpstreamError,
} from "../contract.ts";
import { isAssetError } from "../kept-file.ts";
import { startDeadline } from "../mcp/deadline.ts";
import { chain, member, networkFailure } from "../network.ts";
import { answerOf } from "./answer.ts";
import { type BuildOptions, type BuiltRequest, buildRequest } from "./build.ts";
import type { OperationPlan } from "./plan.ts";
import type { Schemes } from "./security.ts";
import { send } from "./send.ts";
import { RequestRefused } from "./styles.ts";

export interface Operation {
  readonly plan: OperationPlan;
  readonly schemes: Schemes;
  readonly options: BuildOptions;
}

/**
 * Calls an operation. Arguments of which no request can be made, and whatever the service answers, are results.
 * @throws UpstreamError where no answer came; the caller's own reason where the call was cancelled; whatever
 *   `context.credential` rejects with
 */
export async function callOperation(
  context: AdapterContext,
  { plan, schemes, options }: Operation,
  args: JsonObject,
  call: CallContext,
): Promise<Outcome> {
  call.signal.throwIfAborted();
  let request: BuiltRequest;
  try {
    request = buildRequest(plan, args, options);
    // One key per call, the same for its second try: that is what makes trying again harmless.
    const { idempotency } = plan;
    if (idempotency !== undefined) request.headers[idempotency.toLowerCase()] ??= randomUUID();
  } catch (error) {
    if (!(error instanceof RequestRefused)) throw error;
    return {
      kind: "result",
      result: { content: [{ type: "text", text: `Not sent: ${error.message}` }], isError: true },
    };
  }
  const deadline = startDeadline(call);
  const end = () => abort.abort(context.signal.reason);
  const abort = new AbortController();
  context.signal.addEventListener("abort", end, { once: true });
  try {
    const signal = AbortSignal.any([deadline.signal, abort.signal]);
    const assets = touching(call.assets, deadline.touch);
    const response = await send(context, { plan, schemes, request, assets, signal });
    if (response.status === 508) throw new UpstreamError("loop_detected", "The connection leads back here.");
    return { kind: "result", result: await answerOf(plan, response, { assets, url: request.url }) };
  } catch (error) {
    const reason = deadline.reason();
    if (reason !== undefined) throw reason;
    throw failureOf(error);
  } finally {
    context.signal.removeEventListener("abort", end);
    deadline.end();
  }
}

/** The caller's files, where every chunk that passes says that the call is alive. */
function touching(assets: Assets, touch: () => void): Assets {
  async function* touched(content: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      touch();
      yield chunk;
    }
  }
  const alive = (content: ReadableStream<Uint8Array>) => ReadableStream.from(touched(content));
  return {
    put: (content, about) => assets.put(content instanceof Uint8Array ? content : alive(content), about),
    async read(handle) {
      const file = await assets.read(handle);
      return { ...file, stream: () => alive(file.stream()) };
    },
  };
}

/** `AdapterContext.credential` had none to give, so nothing was sent. */
const NO_CREDENTIAL = ["authorization_required", "missing_variable", "credential_unreadable", "vault_unavailable"];

/** Errors of the contract, and those of our own credentials and kept files, pass as they are. */
export function failureOf(error: unknown): unknown {
  const kept = [...chain(error)].find(isAssetError);
  if (kept !== undefined) return kept;
  const network = networkFailure(error);
  if (network !== undefined) return network;
  const code = member(error, "code");
  if (error instanceof UpstreamError || NO_CREDENTIAL.some((known) => known === code)) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new UpstreamError("upstream_protocol", "The request to the service failed.", { detail, cause: error });
}
