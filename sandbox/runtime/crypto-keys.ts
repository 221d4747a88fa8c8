/** Keys of `node:crypto`: held as bytes here, looked at and used by the worker. */
import { Buffer, bytesFrom } from "./buffer.ts";
import { type Bytes, compute, encoded, tell } from "./crypto-host.ts";

/** What signing and encrypting with a key may be told beside it. */
export interface KeyOptions {
  readonly passphrase?: string | undefined;
  readonly padding?: number | undefined;
  readonly saltLength?: number | undefined;
  readonly dsaEncoding?: string | undefined;
  readonly oaepHash?: string | undefined;
  readonly format?: string | undefined;
  readonly type?: string | undefined;
}

export interface KeyMaterial {
  readonly bytes: Bytes;
  readonly options: KeyOptions;
}

interface KeyFacts {
  asymmetricKeyType?: string;
  asymmetricKeyDetails?: object;
}

export class KeyObject {
  readonly type: "secret" | "public" | "private";
  readonly material: KeyMaterial;
  readonly asymmetricKeyType: string | undefined;
  readonly asymmetricKeyDetails: object | undefined;

  constructor(type: "secret" | "public" | "private", material: KeyMaterial, facts: KeyFacts = {}) {
    this.type = type;
    this.material = material;
    this.asymmetricKeyType = facts.asymmetricKeyType;
    this.asymmetricKeyDetails = facts.asymmetricKeyDetails;
  }

  get symmetricKeySize(): number | undefined {
    return this.type === "secret" ? this.material.bytes.byteLength : undefined;
  }

  export(options: { format?: string; type?: string } = {}): Buffer | string | object {
    if (this.type === "secret") {
      if (options.format !== "jwk") return Buffer.from(this.material.bytes);
      return { kty: "oct", k: encoded(this.material.bytes, "base64url") };
    }
    const { format = "pem", type = this.type === "public" ? "spki" : "pkcs8" } = options;
    const parameters = { ...this.material.options, kind: this.type, to: format, toType: type };
    const bytes = compute("export-key", parameters, this.material.bytes);
    if (format === "der") return Buffer.from(bytes);
    const text = Buffer.from(bytes).toString("utf8");
    return format === "jwk" ? (JSON.parse(text) as object) : text;
  }

  equals(other: KeyObject): boolean {
    return other.type === this.type && Buffer.compare(this.material.bytes, other.material.bytes) === 0;
  }
}

function isKeyLike(given: unknown): given is { key: unknown } & KeyOptions {
  return typeof given === "object" && given !== null && "key" in given;
}

/** The bytes and options of whatever Node takes as a key: text, bytes, a KeyObject, `{ key, passphrase, ... }`, a JWK. */
export function keyMaterial(given: unknown): KeyMaterial {
  if (given instanceof KeyObject) return given.material;
  if (isKeyLike(given)) {
    const { key, passphrase, padding, saltLength, dsaEncoding, oaepHash, format, type } = given;
    const inner = format === "jwk" ? { bytes: Buffer.from(JSON.stringify(key)), options: {} } : keyMaterial(key);
    const own = { passphrase: passphrase === undefined ? undefined : String(passphrase), padding, saltLength };
    return { bytes: inner.bytes, options: { ...inner.options, ...own, dsaEncoding, oaepHash, format, type } };
  }
  return { bytes: bytesFrom(given), options: {} };
}

/** The key of an HMAC or a cipher. */
export function secretBytes(given: unknown): Bytes {
  return given instanceof KeyObject ? given.material.bytes : bytesFrom(given);
}

/** Throws what Node throws for bytes that are no such key: libraries rely on it to try another kind. */
function asymmetric(kind: "public" | "private", given: unknown): KeyObject {
  const material = keyMaterial(given);
  const facts: KeyFacts = JSON.parse(tell("inspect-key", { ...material.options, kind }, material.bytes));
  return new KeyObject(kind, material, facts);
}

export const createPrivateKey = (given: unknown): KeyObject => asymmetric("private", given);
export const createPublicKey = (given: unknown): KeyObject => asymmetric("public", given);
export const createSecretKey = (given: unknown, encoding?: string): KeyObject =>
  new KeyObject("secret", { bytes: Buffer.from(bytesFrom(given, encoding)), options: {} });
