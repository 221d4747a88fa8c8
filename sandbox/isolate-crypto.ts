/**
 * Cryptography for code inside an isolate, on the worker's Node. Every argument is a stranger's: only the operations of
 * this list, with bounded work.
 */
import {
  constants,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  pbkdf2Sync,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
  randomUUID,
  type SigningOptions,
  sign,
  verify,
} from "node:crypto";

const MOST_RANDOM = 65_536;
/** Half a second or so: the call's process does nothing else in that time. */
const MOST_ITERATIONS = 1_000_000;
const MOST_DERIVED = 4096;

type Parameters = Readonly<Record<string, unknown>>;
type Operation = (how: Parameters, parts: readonly Buffer[]) => Buffer | boolean | string;

function text(how: Parameters, name: string): string | undefined {
  const value = how[name];
  if (value === undefined) return undefined;
  if (typeof value !== "string" || value.length > 4096) throw new TypeError(`${name} must be a short text`);
  return value;
}

function required(how: Parameters, name: string): string {
  const value = text(how, name);
  if (value === undefined) throw new TypeError(`${name} is missing`);
  return value;
}

function number(how: Parameters, name: string, least: number, most: number): number {
  const value = how[name];
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} must be a whole number from ${least} to ${most}`);
  }
  return value;
}

function part(parts: readonly Buffer[], index: number): Buffer {
  const found = parts[index];
  if (found === undefined) throw new TypeError("data is missing");
  return found;
}

/** A key in PEM, in DER or as a JWK; never a path or a handle. */
function keyOf(kind: "public" | "private", how: Parameters, bytes: Buffer): KeyObject {
  const format = text(how, "format");
  const passphrase = text(how, "passphrase");
  if (format === "jwk") {
    const key: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof key !== "object" || key === null) throw new TypeError("not a JWK");
    const jwk = { key: Object.fromEntries(Object.entries(key)), format: "jwk" } as const;
    return kind === "private" ? createPrivateKey(jwk) : createPublicKey(jwk);
  }
  if (format === "der") {
    if (kind === "public") return createPublicKey({ key: bytes, format, type: "spki" });
    return createPrivateKey({ key: bytes, format, type: "pkcs8", ...(passphrase !== undefined && { passphrase }) });
  }
  const pem = { key: bytes, format: "pem", ...(passphrase !== undefined && { passphrase }) } as const;
  return kind === "private" ? createPrivateKey(pem) : createPublicKey(pem);
}

/** What signing with a key is told beside it. */
function signing(how: Parameters): SigningOptions {
  const dsaEncoding = text(how, "dsaEncoding");
  return {
    ...(how["padding"] !== undefined && { padding: number(how, "padding", 1, 6) }),
    ...(how["saltLength"] !== undefined && { saltLength: number(how, "saltLength", -2, 1024) }),
    ...((dsaEncoding === "der" || dsaEncoding === "ieee-p1363") && { dsaEncoding }),
  };
}

/** `RSA-SHA256` is what older code calls `sha256`. */
function digestOf(how: Parameters): string | null {
  return text(how, "algorithm")?.replace(/^RSA-/i, "") ?? null;
}

/** Ciphers with a tag, of which the length must be known, and the others. */
const AUTHENTICATED = /^(?:aes-(?:128|192|256)-(?:gcm|ocb)|chacha20-poly1305)$/;

function encrypt(how: Parameters, parts: readonly Buffer[]): Buffer {
  const algorithm = required(how, "algorithm");
  const [key, iv, data, aad] = [part(parts, 0), part(parts, 1), part(parts, 2), parts[3]];
  if (AUTHENTICATED.test(algorithm)) {
    const authTagLength = number(how, "tagLength", 4, 16);
    const cipher = createCipheriv(algorithm as "aes-256-gcm", key, iv, { authTagLength });
    if (aad !== undefined && aad.length > 0) cipher.setAAD(aad);
    return Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  }
  const cipher = createCipheriv(algorithm, key, iv.length > 0 ? iv : null);
  cipher.setAutoPadding(how["autoPadding"] !== false);
  return Buffer.concat([cipher.update(data), cipher.final()]);
}

function decrypt(how: Parameters, parts: readonly Buffer[]): Buffer {
  const algorithm = required(how, "algorithm");
  const [key, iv, data, aad, tag] = [part(parts, 0), part(parts, 1), part(parts, 2), parts[3], parts[4]];
  if (AUTHENTICATED.test(algorithm)) {
    const authTagLength = number(how, "tagLength", 4, 16);
    const decipher = createDecipheriv(algorithm as "aes-256-gcm", key, iv, { authTagLength });
    if (aad !== undefined && aad.length > 0) decipher.setAAD(aad);
    if (tag !== undefined) decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(data), decipher.final()]);
  }
  const decipher = createDecipheriv(algorithm, key, iv.length > 0 ? iv : null);
  decipher.setAutoPadding(how["autoPadding"] !== false);
  return Buffer.concat([decipher.update(data), decipher.final()]);
}

function exported(how: Parameters, key: KeyObject): Buffer {
  const [to, type] = [required(how, "to"), text(how, "toType")];
  if (to === "jwk") return Buffer.from(JSON.stringify(key.export({ format: "jwk" })));
  const format = to === "der" ? "der" : "pem";
  if (key.type === "public")
    return Buffer.from(key.export({ format: "pem", type: type === "pkcs1" ? "pkcs1" : "spki" }));
  const own = type === "pkcs1" || type === "sec1" ? type : "pkcs8";
  return format === "der"
    ? key.export({ format: "der", type: own })
    : Buffer.from(key.export({ format: "pem", type: own }));
}

const kindOf = (how: Parameters): "public" | "private" => (how["kind"] === "private" ? "private" : "public");

function oaep(how: Parameters, key: KeyObject) {
  const padding = how["padding"] === undefined ? constants.RSA_PKCS1_OAEP_PADDING : number(how, "padding", 1, 4);
  const pem = key.export({ format: "pem", type: key.type === "public" ? "spki" : "pkcs8" });
  return { key: pem, padding, oaepHash: text(how, "oaepHash") ?? "sha1" };
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  hash: (how, parts) => createHash(required(how, "algorithm")).update(part(parts, 0)).digest(),
  hmac: (how, parts) => createHmac(required(how, "algorithm"), part(parts, 0)).update(part(parts, 1)).digest(),
  random: (how) => randomBytes(number(how, "size", 0, MOST_RANDOM)),
  uuid: () => randomUUID(),
  sign: (how, parts) =>
    sign(digestOf(how), part(parts, 1), { key: keyOf("private", how, part(parts, 0)), ...signing(how) }),
  verify: (how, parts) =>
    verify(
      digestOf(how),
      part(parts, 1),
      { key: keyOf("public", how, part(parts, 0)), ...signing(how) },
      part(parts, 2),
    ),
  encrypt,
  decrypt,
  pbkdf2: (how, parts) =>
    pbkdf2Sync(
      part(parts, 0),
      part(parts, 1),
      number(how, "iterations", 1, MOST_ITERATIONS),
      number(how, "length", 0, MOST_DERIVED),
      required(how, "digest"),
    ),
  hkdf: (how, parts) =>
    Buffer.from(
      hkdfSync(
        required(how, "digest"),
        part(parts, 0),
        part(parts, 1),
        part(parts, 2),
        number(how, "length", 0, MOST_DERIVED),
      ),
    ),
  "public-encrypt": (how, parts) => publicEncrypt(oaep(how, keyOf("public", how, part(parts, 0))), part(parts, 1)),
  "private-decrypt": (how, parts) => privateDecrypt(oaep(how, keyOf("private", how, part(parts, 0))), part(parts, 1)),
  "inspect-key": (how, parts) => {
    const { asymmetricKeyType, asymmetricKeyDetails } = keyOf(kindOf(how), how, part(parts, 0));
    const { modulusLength, namedCurve } = asymmetricKeyDetails ?? {};
    return JSON.stringify({ asymmetricKeyType, asymmetricKeyDetails: { modulusLength, namedCurve } });
  },
  "export-key": (how, parts) => exported(how, keyOf(kindOf(how), how, part(parts, 0))),
};

/**
 * Does one operation. `how` is JSON of its parameters, `parts` are ArrayBuffers or undefined.
 * Answers with an ArrayBuffer, a boolean or a text; throws an Error whose message may be shown inside.
 */
export function computeForIsolate(operation: unknown, how: unknown, parts: readonly unknown[]): unknown {
  const work =
    typeof operation === "string" && Object.hasOwn(OPERATIONS, operation) ? OPERATIONS[operation] : undefined;
  if (work === undefined || typeof how !== "string" || parts.length > 8) throw new TypeError("no such operation");
  const parameters: unknown = JSON.parse(how);
  if (typeof parameters !== "object" || parameters === null) throw new TypeError("parameters are missing");
  const buffers = parts.map((bytes) => (bytes instanceof ArrayBuffer ? Buffer.from(bytes) : Buffer.alloc(0)));
  const answer = work(Object.fromEntries(Object.entries(parameters)), buffers);
  if (!Buffer.isBuffer(answer)) return answer;
  // Exactly these bytes: a small Buffer is a window of a larger pool.
  return new Uint8Array(answer).buffer;
}
