/**
 * Signatures of agent cards (A2A 1.0, 8.4): a JWS over the card in canonical JSON, with a key that the signature names.
 *
 * A valid one shows that who publishes that key wrote the card. It says nothing about who that is, so the key's host is
 * told with it.
 */
import { constants, createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { type AgentCard, canonicalizeAgentCard } from "@a2a-js/sdk";
import { arrayOf, isObject, textOf } from "../http-request/json.ts";
import { bounded } from "../mcp/failures.ts";
import type { ReadCard } from "./card.ts";

export type SignatureState =
  | { state: "unsigned" }
  | { state: "verified"; kid: string; host: string }
  | { state: "unverified"; reason: string };

const MAX_SIGNATURES = 5;

/** RFC 7518, 3.1 and RFC 8037: how each algorithm is verified. */
const ALGORITHMS: Readonly<Record<string, { hash: string | null; type: string; curve?: string; pss?: true }>> = {
  ES256: { hash: "sha256", type: "EC", curve: "P-256" },
  ES384: { hash: "sha384", type: "EC", curve: "P-384" },
  ES512: { hash: "sha512", type: "EC", curve: "P-521" },
  RS256: { hash: "sha256", type: "RSA" },
  PS256: { hash: "sha256", type: "RSA", pss: true },
  EdDSA: { hash: null, type: "OKP", curve: "Ed25519" },
};

/**
 * Looks for one signature that holds.
 * @param fetch reaches what the card names; it gets no credential
 */
export async function signatureOf(read: ReadCard, fetch: typeof globalThis.fetch): Promise<SignatureState> {
  const { signatures } = read.card;
  if (signatures.length === 0) return { state: "unsigned" };
  let reason = "no signature could be checked";
  for (const signature of signatures.slice(0, MAX_SIGNATURES)) {
    const checked = await check(read, signature, fetch);
    if (typeof checked !== "string") return checked;
    reason = checked;
  }
  return { state: "unverified", reason };
}

/** In words, for a person who reviews the agent. */
export function signatureWords(signature: SignatureState): string {
  switch (signature.state) {
    case "unsigned":
      return "card not signed";
    case "verified":
      return `card signed with key ${signature.kid} of ${signature.host}`;
    case "unverified":
      return `signature of the card not verified: ${signature.reason}`;
  }
}

async function check(
  read: ReadCard,
  signature: AgentCard["signatures"][number],
  fetch: typeof globalThis.fetch,
): Promise<SignatureState | string> {
  const header = jsonOf(Buffer.from(signature.protected, "base64url").toString("utf8"));
  if (!isObject(header)) return "its header cannot be read";
  const { alg, kid, jku } = header;
  if (typeof alg !== "string" || !Object.hasOwn(ALGORITHMS, alg)) return "its algorithm is not known";
  if (typeof kid !== "string" || typeof jku !== "string" || !URL.canParse(jku))
    return "it does not say where its key is";
  const named = { kid: bounded(kid).slice(0, 100), host: new URL(jku).host };
  const key = await keyOf(jku, kid, fetch);
  if (typeof key === "string") return `${key} (${named.host})`;
  const forms = [canonicalizeAgentCard(read.card), canonicalJson({ ...read.raw, signatures: undefined })];
  const holds = forms.some((form) => verifies(alg, key, signature, form));
  return holds ? { state: "verified", ...named } : `it does not fit the card and key ${named.kid} of ${named.host}`;
}

async function keyOf(jku: string, kid: string, fetch: typeof globalThis.fetch): Promise<JsonWebKey | string> {
  try {
    const response = await fetch(jku, { headers: { accept: "application/json" } });
    if (!response.ok) return `its keys could not be fetched: HTTP ${response.status}`;
    const set = jsonOf(await response.text());
    const found = arrayOf(isObject(set) ? set["keys"] : undefined)
      .filter(isObject)
      .find((key) => textOf(key["kid"]) === kid);
    return found === undefined ? "its key is not among those published" : jwkOf(found);
  } catch {
    // Blocked, down or too slow: whatever it was, the signature could not be checked.
    return "its keys could not be fetched";
  }
}

/** The public members only. */
function jwkOf(key: Record<string, unknown>): JsonWebKey {
  const jwk: JsonWebKey = {};
  for (const name of ["kty", "crv", "x", "y", "n", "e"] as const) {
    const value = textOf(key[name]);
    if (value !== undefined) jwk[name] = value;
  }
  return jwk;
}

function verifies(
  alg: string,
  jwk: JsonWebKey,
  { protected: header, signature }: { protected: string; signature: string },
  form: string,
): boolean {
  const how = ALGORITHMS[alg];
  // RFC 8725, 3.1: the key decides what may be done with it, not the header alone.
  if (how === undefined || jwk.kty !== how.type || (how.curve !== undefined && jwk.crv !== how.curve)) return false;
  const text = Buffer.from(`${header}.${Buffer.from(form, "utf8").toString("base64url")}`);
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    const pss = how.pss ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : {};
    return verify(how.hash, text, { key, dsaEncoding: "ieee-p1363", ...pss }, Buffer.from(signature, "base64url"));
  } catch {
    // A key that is none verifies nothing.
    return false;
  }
}

/** RFC 8785: sorted keys, and numbers and strings as ECMAScript writes them. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join(",")}}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
