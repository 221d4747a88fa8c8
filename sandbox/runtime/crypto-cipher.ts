/** `createCipheriv` and `createDecipheriv`: collects everything and works at the end. */
import { Buffer, bytesFrom } from "./buffer.ts";
import { type Bytes, compute, encoded } from "./crypto-host.ts";
import { secretBytes } from "./crypto-keys.ts";
import { Transform } from "./stream.ts";

const TAG_BYTES = 16;

class Cipher extends Transform {
  readonly #operation: "encrypt" | "decrypt";
  readonly #algorithm: string;
  readonly #key: Bytes;
  readonly #iv: Bytes;
  readonly #tagLength: number;
  readonly #chunks: Bytes[] = [];
  #aad: Bytes | undefined;
  #tag: Bytes | undefined;
  #autoPadding = true;

  constructor(operation: "encrypt" | "decrypt", algorithm: string, key: unknown, iv: unknown, tagLength = TAG_BYTES) {
    super();
    this.#operation = operation;
    this.#algorithm = String(algorithm).toLowerCase();
    this.#key = secretBytes(key);
    this.#iv = iv === null ? new Uint8Array() : bytesFrom(iv);
    this.#tagLength = tagLength;
  }

  get #authenticated(): boolean {
    return /gcm|ccm|ocb|poly1305/.test(this.#algorithm);
  }

  update(data: unknown, inputEncoding?: string, outputEncoding?: string): Buffer | string {
    this.#chunks.push(bytesFrom(data, inputEncoding));
    return outputEncoding === undefined || outputEncoding === "buffer" ? Buffer.alloc(0) : "";
  }

  final(outputEncoding?: string): Buffer | string {
    const data = Buffer.concat(this.#chunks);
    const parameters = {
      algorithm: this.#algorithm,
      autoPadding: this.#autoPadding,
      ...(this.#authenticated && { tagLength: this.#tagLength }),
    };
    const out = compute(this.#operation, parameters, this.#key, this.#iv, data, this.#aad, this.#tag);
    if (!this.#authenticated || this.#operation === "decrypt") return encoded(out, outputEncoding);
    this.#tag = out.slice(out.length - this.#tagLength);
    return encoded(out.slice(0, out.length - this.#tagLength), outputEncoding);
  }

  getAuthTag(): Buffer {
    if (this.#tag === undefined) throw new Error("the tag is there after final()");
    return Buffer.from(this.#tag);
  }

  setAuthTag(tag: unknown, encoding?: string): this {
    this.#tag = bytesFrom(tag, encoding);
    return this;
  }

  setAAD(data: unknown): this {
    this.#aad = bytesFrom(data);
    return this;
  }

  setAutoPadding(padding = true): this {
    this.#autoPadding = padding;
    return this;
  }

  override _transform(chunk: unknown, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.update(chunk, encoding);
    done();
  }

  override _flush(done: (error?: Error | null) => void): void {
    this.push(this.final());
    done();
  }
}

interface CipherOptions {
  readonly authTagLength?: number;
}

export const createCipheriv = (algorithm: string, key: unknown, iv: unknown, options?: CipherOptions): Cipher =>
  new Cipher("encrypt", algorithm, key, iv, options?.authTagLength);
export const createDecipheriv = (algorithm: string, key: unknown, iv: unknown, options?: CipherOptions): Cipher =>
  new Cipher("decrypt", algorithm, key, iv, options?.authTagLength);
