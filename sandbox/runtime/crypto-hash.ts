/** Hashes, HMACs, signatures: objects that collect data and ask the worker once. */
import { Buffer, bytesFrom } from "./buffer.ts";
import { type Bytes, check, compute, encoded } from "./crypto-host.ts";
import { type KeyMaterial, keyMaterial, secretBytes } from "./crypto-keys.ts";
import { Transform, Writable } from "./stream.ts";

export class Hash extends Transform {
  readonly #finish: (data: Bytes) => Bytes;
  readonly #chunks: Bytes[];
  #done = false;

  constructor(finish: (data: Bytes) => Bytes, chunks: Bytes[] = []) {
    super();
    this.#finish = finish;
    this.#chunks = chunks;
  }

  update(data: unknown, encoding?: string): this {
    if (this.#done) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    // A copy: Node has read the bytes when update returns.
    this.#chunks.push(Uint8Array.from(bytesFrom(data, encoding)));
    return this;
  }

  digest(encoding?: string): Buffer | string {
    this.#done = true;
    return encoded(this.#finish(Buffer.concat(this.#chunks)), encoding);
  }

  copy(): Hash {
    return new Hash(this.#finish, [...this.#chunks]);
  }

  override _transform(chunk: unknown, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.update(chunk, encoding);
    done();
  }

  override _flush(done: (error?: Error | null) => void): void {
    this.push(this.digest());
    done();
  }
}

const digest = (algorithm: string, data: Bytes): Bytes => compute("hash", { algorithm: String(algorithm) }, data);

export const createHash = (algorithm: string): Hash => new Hash((data) => digest(algorithm, data));

export const hash = (algorithm: string, data: unknown, encoding = "hex"): Buffer | string =>
  encoded(digest(algorithm, bytesFrom(data)), encoding);

export function createHmac(algorithm: string, key: unknown): Hash {
  const secret = secretBytes(key);
  return new Hash((data) => compute("hmac", { algorithm: String(algorithm) }, secret, data));
}

/** One signature. `algorithm` null: the key's own (Ed25519). */
function signature(algorithm: string | null | undefined, data: Bytes, { bytes, options }: KeyMaterial): Bytes {
  return compute("sign", { ...options, algorithm: algorithm ?? undefined }, bytes, data);
}

function isSignature(algorithm: string | null | undefined, data: Bytes, key: KeyMaterial, signed: Bytes): boolean {
  return check("verify", { ...key.options, algorithm: algorithm ?? undefined }, key.bytes, data, signed);
}

class Collected extends Writable {
  protected readonly algorithm: string;
  readonly #chunks: Bytes[] = [];

  constructor(algorithm: string) {
    super();
    this.algorithm = String(algorithm);
  }

  update(data: unknown, encoding?: string): this {
    this.#chunks.push(Uint8Array.from(bytesFrom(data, encoding)));
    return this;
  }

  protected get data(): Bytes {
    return Buffer.concat(this.#chunks);
  }

  override _write(chunk: unknown, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.update(chunk, encoding);
    done();
  }
}

class Sign extends Collected {
  sign(key: unknown, encoding?: string): Buffer | string {
    return encoded(signature(this.algorithm, this.data, keyMaterial(key)), encoding);
  }
}

class Verify extends Collected {
  verify(key: unknown, signed: unknown, encoding?: string): boolean {
    return isSignature(this.algorithm, this.data, keyMaterial(key), bytesFrom(signed, encoding));
  }
}

export const createSign = (algorithm: string): Sign => new Sign(algorithm);
export const createVerify = (algorithm: string): Verify => new Verify(algorithm);

export const sign = (algorithm: string | null | undefined, data: unknown, key: unknown): Buffer =>
  Buffer.from(signature(algorithm, bytesFrom(data), keyMaterial(key)));
export const verify = (algorithm: string | null | undefined, data: unknown, key: unknown, signed: unknown): boolean =>
  isSignature(algorithm, bytesFrom(data), keyMaterial(key), bytesFrom(signed));
