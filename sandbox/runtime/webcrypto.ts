/** The global `crypto` (Web Cryptography API): digests, HMAC, RSA and EC signatures, AES, PBKDF2 and HKDF. */
import { Buffer, bytesFrom } from "./buffer.ts";
import { type Bytes, check, compute, encoded, fillRandomly, tell } from "./crypto-host.ts";
import { unavailable } from "./unavailable.ts";

interface Algorithm {
  readonly name: string;
  readonly hash?: string | { readonly name: string };
  readonly iv?: unknown;
  readonly additionalData?: unknown;
  readonly tagLength?: number;
  readonly salt?: unknown;
  readonly info?: unknown;
  readonly iterations?: number;
  readonly saltLength?: number;
}

type AlgorithmLike = string | Algorithm;

export class CryptoKey {
  readonly type: "secret" | "public" | "private";
  readonly algorithm: Algorithm;
  readonly extractable: boolean;
  readonly usages: readonly string[];
  readonly #bytes: Bytes;
  readonly #format: string;

  constructor(
    type: CryptoKey["type"],
    algorithm: Algorithm,
    extractable: boolean,
    usages: readonly string[],
    bytes: Bytes,
    format: string,
  ) {
    this.type = type;
    this.algorithm = algorithm;
    this.extractable = extractable;
    this.usages = usages;
    this.#bytes = bytes;
    this.#format = format;
  }

  /** For the functions of this file. */
  static material(key: CryptoKey): { bytes: Bytes; format: string } {
    return { bytes: key.#bytes, format: key.#format };
  }
}

const asAlgorithm = (given: AlgorithmLike): Algorithm => (typeof given === "string" ? { name: given } : given);
const nameOf = (given: AlgorithmLike): string => asAlgorithm(given).name.toUpperCase();
/** `SHA-256` -> `sha256`. */
const digestOf = (given: AlgorithmLike | undefined): string =>
  nameOf(given ?? "SHA-256")
    .replace("-", "")
    .toLowerCase();
const bufferOf = (bytes: Bytes): ArrayBufferLike => Uint8Array.from(bytes).buffer;

/** What Node's own functions must be told to do the same. */
function signing(algorithm: AlgorithmLike, key: CryptoKey): Record<string, string | number | undefined> {
  const asked = asAlgorithm(algorithm);
  const { format } = CryptoKey.material(key);
  const shape = { format: format === "jwk" ? "jwk" : "der", type: format === "jwk" ? undefined : format };
  switch (asked.name.toUpperCase()) {
    case "RSASSA-PKCS1-V1_5":
      return { ...shape, algorithm: digestOf(key.algorithm.hash) };
    case "RSA-PSS":
      return { ...shape, algorithm: digestOf(key.algorithm.hash), padding: 6, saltLength: asked.saltLength };
    case "ECDSA":
      return { ...shape, algorithm: digestOf(asked.hash), dsaEncoding: "ieee-p1363" };
    case "ED25519":
      return shape;
    default:
      throw unavailable(`crypto.subtle.sign of ${asked.name}`);
  }
}

/** AES of Node that an algorithm of web crypto means. */
function cipherOf(algorithm: Algorithm, key: Bytes): string {
  const mode = /^AES-(GCM|CBC|CTR)$/i.exec(algorithm.name)?.[1];
  if (mode === undefined) throw unavailable(`crypto.subtle.encrypt of ${algorithm.name}`);
  return `aes-${key.length * 8}-${mode.toLowerCase()}`;
}

function crypt(operation: "encrypt" | "decrypt", algorithm: Algorithm, key: CryptoKey, data: Bytes): Bytes {
  const { bytes } = CryptoKey.material(key);
  const cipher = cipherOf(algorithm, bytes);
  const iv = bytesFrom(algorithm.iv);
  if (!cipher.endsWith("gcm")) return compute(operation, { algorithm: cipher }, bytes, iv, data);
  const tagLength = (algorithm.tagLength ?? 128) / 8;
  const aad = algorithm.additionalData === undefined ? undefined : bytesFrom(algorithm.additionalData);
  if (operation === "encrypt") return compute(operation, { algorithm: cipher, tagLength }, bytes, iv, data, aad);
  const split = data.length - tagLength;
  return compute(operation, { algorithm: cipher, tagLength }, bytes, iv, data.slice(0, split), aad, data.slice(split));
}

export const subtle = {
  async digest(algorithm: AlgorithmLike, data: unknown): Promise<ArrayBufferLike> {
    return bufferOf(compute("hash", { algorithm: digestOf(algorithm) }, bytesFrom(data)));
  },

  async importKey(
    format: string,
    data: unknown,
    algorithm: AlgorithmLike,
    extractable: boolean,
    usages: readonly string[],
  ): Promise<CryptoKey> {
    const isPrivate = format === "pkcs8" || (typeof data === "object" && data !== null && "d" in data);
    if (format === "jwk" && typeof data === "object" && data !== null && "k" in data) {
      const secret = Buffer.from(String(data.k), "base64url" as "base64");
      return new CryptoKey("secret", asAlgorithm(algorithm), extractable, usages, secret, "raw");
    }
    const bytes = format === "jwk" ? Buffer.from(JSON.stringify(data)) : Uint8Array.from(bytesFrom(data));
    const type = format === "raw" ? "secret" : isPrivate ? "private" : "public";
    return new CryptoKey(type, asAlgorithm(algorithm), extractable, usages, bytes, format);
  },

  async exportKey(format: string, key: CryptoKey): Promise<ArrayBufferLike | object> {
    const { bytes, format: own } = CryptoKey.material(key);
    if (!key.extractable) throw new DOMException("The key is not extractable", "InvalidAccessError");
    if (format === own)
      return format === "jwk" ? (JSON.parse(Buffer.from(bytes).toString()) as object) : bufferOf(bytes);
    if (format === "jwk" && own === "raw") return { kty: "oct", k: encoded(bytes, "base64url"), ext: true };
    throw unavailable(`crypto.subtle.exportKey from ${own} to ${format}`);
  },

  async sign(algorithm: AlgorithmLike, key: CryptoKey, data: unknown): Promise<ArrayBufferLike> {
    const { bytes } = CryptoKey.material(key);
    if (nameOf(algorithm) !== "HMAC") return bufferOf(compute("sign", signing(algorithm, key), bytes, bytesFrom(data)));
    return bufferOf(compute("hmac", { algorithm: digestOf(key.algorithm.hash) }, bytes, bytesFrom(data)));
  },

  async verify(algorithm: AlgorithmLike, key: CryptoKey, signature: unknown, data: unknown): Promise<boolean> {
    const { bytes } = CryptoKey.material(key);
    if (nameOf(algorithm) === "HMAC") {
      const wanted = compute("hmac", { algorithm: digestOf(key.algorithm.hash) }, bytes, bytesFrom(data));
      return Buffer.compare(wanted, bytesFrom(signature)) === 0;
    }
    return check("verify", signing(algorithm, key), bytes, bytesFrom(data), bytesFrom(signature));
  },

  async encrypt(algorithm: Algorithm, key: CryptoKey, data: unknown): Promise<ArrayBufferLike> {
    return bufferOf(crypt("encrypt", algorithm, key, bytesFrom(data)));
  },

  async decrypt(algorithm: Algorithm, key: CryptoKey, data: unknown): Promise<ArrayBufferLike> {
    return bufferOf(crypt("decrypt", algorithm, key, bytesFrom(data)));
  },

  async deriveBits(algorithm: Algorithm, key: CryptoKey, bits: number): Promise<ArrayBufferLike> {
    const { bytes } = CryptoKey.material(key);
    const [length, digest, salt] = [bits / 8, digestOf(algorithm.hash), bytesFrom(algorithm.salt)];
    if (nameOf(algorithm) === "PBKDF2") {
      return bufferOf(compute("pbkdf2", { iterations: algorithm.iterations, length, digest }, bytes, salt));
    }
    if (nameOf(algorithm) === "HKDF") {
      return bufferOf(compute("hkdf", { digest, length }, bytes, salt, bytesFrom(algorithm.info)));
    }
    throw unavailable(`crypto.subtle.deriveBits of ${algorithm.name}`);
  },

  async generateKey(): Promise<never> {
    throw unavailable("crypto.subtle.generateKey");
  },
};

export const webcrypto = { getRandomValues: fillRandomly, randomUUID: () => tell("uuid", {}), subtle };
