/** Digests under which things of the authorization server are stored, and the keys it derives from the master key. */
import { createHash, createPrivateKey } from "node:crypto";
import type { Keyring } from "../vault/keyring.ts";

/** SHA-256 in hexadecimal of words that cannot run into each other. */
export function digestOf(...words: readonly string[]): string {
  return createHash("sha256").update(words.join("\0")).digest("hex");
}

/** The start of a PKCS #8 Ed25519 private key (RFC 8410); 32 bytes of seed follow. */
const ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * The signing key that the library wants to have. Nothing is signed with it as long as tokens are opaque, but without
 * one it would use a key that everybody knows. Derived, so that all replicas have the same and nothing is stored.
 */
export function signingKey(keyring: Keyring): { kty: string } & Record<string, string> {
  const key = createPrivateKey({
    key: Buffer.concat([ED25519, keyring.deriveKey("oauth/signing")]),
    format: "der",
    type: "pkcs8",
  });
  const { crv = "", d = "", x = "" } = key.export({ format: "jwk" });
  return { kty: "OKP", crv, d, x, use: "sig", alg: "EdDSA", kid: digestOf(x).slice(0, 16) };
}

/** The key that signs the cookies of a sign-in under way. */
export function cookieKey(keyring: Keyring): string {
  return keyring.deriveKey("oauth/cookies").toString("base64url");
}
