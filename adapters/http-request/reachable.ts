/** Whether a service can be reached at all: no operation is harmless enough to be called for that. */
import type { AdapterContext, Health } from "../contract.ts";
import { UpstreamError } from "../contract.ts";
import { failureOf } from "./call.ts";

const CHECK_MS = 15_000;

/** Any answer counts, for the address of an API is rarely something to read. No credential goes along. */
export async function reachable(context: AdapterContext, url: string | undefined): Promise<Health> {
  if (url === undefined) {
    return { state: "unhealthy", code: "upstream_protocol", message: "It is not known where the service is." };
  }
  const headers = {
    "user-agent": `${context.identity.name}/${context.identity.version}`,
    [context.hop.header]: context.hop.value,
  };
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(CHECK_MS)]);
  try {
    const response = await context.fetch(url, { method: "GET", headers, signal, redirect: "manual" });
    await response.body?.cancel();
    if (response.status === 508) throw new UpstreamError("loop_detected", "The connection leads back here.");
    const { status } = response;
    const down = status === 502 || status === 503 || status === 504;
    if (!down) return { state: "healthy" };
    return { state: "unhealthy", code: "upstream_status", message: `The service answered HTTP ${status}.` };
  } catch (error) {
    const failure = failureOf(error);
    if (!(failure instanceof UpstreamError)) throw failure;
    return { state: "unhealthy", code: failure.code, message: failure.message };
  }
}
