/**
 * Short-lived signed statements about who calls, for agents that a connection trusts with it. The caller's own token
 * never leaves this server; an agent verifies the statement with the keys at `/oauth/jwks`, which our authorization
 * server's metadata names.
 */
import { createECDH, createHash, createPrivateKey, randomBytes, sign } from "node:crypto";
import type { Keyring } from "../vault/keyring.ts";
import type { Principal } from "./principal.ts";

/** Seconds that a statement may be used for. */
export const ASSERTION_SECONDS = 120;
const LABEL = "caller-assertion";

/** A private key as a JWK; ES256, because everybody verifies it. */
export type AssertionKey = { kty: string; kid: string } & Record<string, string>;

export interface CallerAssertions {
  /**
   * A JWT (RFC 7519): `iss` is this server, `sub` and `principal_issuer` the principal, `organization` the slug of its
   * organization, `aud` who may believe it.
   */
  sign(principal: Pick<Principal, "issuer" | "subject" | "kind">, organization: string, audience: string): string;
}

/** The keys that statements are, or may have been, signed with: one of each master key, the first one first. */
export function assertionKeys(keyring: Keyring): AssertionKey[] {
  return keyring.keyIds.map((keyId) => keyOf((label) => keyring.keyOf(keyId, label)));
}

/** @param issuer our public origin */
export function createCallerAssertions(options: {
  keys: readonly AssertionKey[];
  issuer: () => string;
  /** Milliseconds since the epoch. */
  clock: () => number;
}): CallerAssertions {
  const [jwk] = options.keys;
  if (jwk === undefined) throw new TypeError("there is no key to sign with");
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const header = encoded({ alg: "ES256", typ: "JWT", kid: jwk.kid });
  return {
    sign(principal, organization, audience) {
      const now = Math.floor(options.clock() / 1000);
      const claims = {
        iss: options.issuer(),
        sub: principal.subject,
        aud: audience,
        iat: now,
        exp: now + ASSERTION_SECONDS,
        jti: randomBytes(16).toString("base64url"),
        organization,
        principal_issuer: principal.issuer,
        principal_kind: principal.kind,
      };
      const text = `${header}.${encoded(claims)}`;
      // RFC 7518, 3.4: the two numbers of the signature side by side.
      const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
      return `${text}.${signature.toString("base64url")}`;
    },
  };
}

/** Derived, so that all replicas have the same key and nothing is stored. */
function keyOf(derive: (label: string) => Buffer | undefined): AssertionKey {
  for (let attempt = 0; ; attempt++) {
    const secret = derive(attempt === 0 ? LABEL : `${LABEL}/${attempt}`);
    if (secret === undefined) throw new TypeError("a master key is gone");
    const curve = createECDH("prime256v1");
    try {
      curve.setPrivateKey(secret);
    } catch {
      // One of four thousand million numbers is too large for the curve.
      continue;
    }
    const point = curve.getPublicKey();
    const part = (from: number) => point.subarray(from, from + 32).toString("base64url");
    const jwk = { crv: "P-256", kty: "EC", x: part(1), y: part(33) };
    // RFC 7638: the members in this order.
    const kid = createHash("sha256").update(JSON.stringify(jwk)).digest("base64url");
    return { ...jwk, d: secret.toString("base64url"), kid, use: "sig", alg: "ES256" };
  }
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
