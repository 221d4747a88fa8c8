/**
 * The pairing protocol for any provider over HTTP (docs/pairing.md): `POST <origin>/.well-known/pairing/redeem` with
 * the claim, answered with tokens. The origin is the connection's own, never the packet's.
 */
import type { PairingContext, Redemption } from "../contract.ts";
import { networkFailure } from "../network.ts";
import { readTokens, wordsOf } from "./answer.ts";
import { parsePacket } from "./packet.ts";

/** Where a provider redeems, on the origin of its service. */
export const REDEEM_PATH = "/.well-known/pairing/redeem";

/**
 * Redeems a packet at the origin of `configured`.
 * @param configured URL of the connection's configuration
 * @throws nothing for what a packet or a provider can do; that is told in the answer
 */
export async function redeemPacket(packet: string, configured: URL, context: PairingContext): Promise<Redemption> {
  const read = parsePacket(packet);
  if ("problem" in read) return { kind: "wrong", reason: read.problem };
  // Plain http passes only where it is the configured origin itself, which egress allows to private ranges alone.
  if (read.origin !== configured.origin) {
    return {
      kind: "wrong",
      reason: `The packet belongs to another service: this connection is at ${configured.origin}.`,
    };
  }
  const { claim, scope } = read;
  if (!(await context.claim(`${configured.origin} ${claim}`))) return { kind: "used" };
  let response: Response;
  let body: string;
  try {
    response = await context.fetch(new URL(REDEEM_PATH, configured.origin), {
      method: "POST",
      redirect: "manual",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "user-agent": `${context.identity.name}/${context.identity.version}`,
        [context.hop.header]: context.hop.value,
      },
      body: JSON.stringify({ claim }),
    });
    body = await response.text();
  } catch (error) {
    const failure = networkFailure(error);
    if (failure === undefined) throw error;
    return { kind: failure.processed === "no" ? "unsent" : "unknown", reason: failure.message };
  }
  return answered(response, body, claim, scope);
}

function answered(response: Response, body: string, claim: string, scope: readonly string[] | undefined): Redemption {
  const { status } = response;
  if (status >= 300 && status < 400) {
    return { kind: "refused", reason: "The service answered with a redirect, which is not followed." };
  }
  if (!response.ok) {
    const words = wordsOf(body, claim);
    // A 5xx proves nothing: the claim may be spent.
    const kind = status >= 500 || status === 408 ? "unknown" : "refused";
    return { kind, reason: `The service answered HTTP ${status}${words === "" ? "." : `: ${words}`}` };
  }
  const read = readTokens(body, scope);
  if ("tokens" in read) return { kind: "tokens", tokens: read.tokens };
  return { kind: "refused", reason: `What the service gave is not kept: ${read.problem}.` };
}
