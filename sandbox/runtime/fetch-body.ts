/** Bodies of the global `Request` and `Response`: held whole, read once. */
import { Blob } from "fetch-blob";
import { formDataToBlob } from "formdata-polyfill/esm.min.js";
import { Buffer, bytesFrom } from "./buffer.ts";
import { TextDecoder } from "./encoding.ts";
import type { Headers } from "./headers.ts";
import { readAll } from "./stream.ts";

interface Reader {
  read(): Promise<{ done?: boolean; value?: unknown }>;
}

function method<Result>(body: object, name: string): (() => Result) | undefined {
  const found: unknown = Reflect.get(body, name);
  return typeof found === "function" ? () => Reflect.apply(found, body, []) : undefined;
}

/** The bytes of whatever fetch takes as a body, polyfills and packages included. */
async function bytesOfBody(body: unknown): Promise<Uint8Array> {
  if (body === null || body === undefined) return new Uint8Array();
  if (typeof body !== "object") return Buffer.from(String(body));
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return bytesFrom(body);
  if (body instanceof URLSearchParams) return Buffer.from(body.toString());
  const whole = method<Promise<ArrayBuffer>>(body, "arrayBuffer");
  if (whole) return new Uint8Array(await whole());
  const reader = method<Reader>(body, "getReader")?.();
  if (reader) return readAll(chunksOf(reader));
  // The `form-data` package.
  const buffer = method<Uint8Array>(body, "getBuffer");
  if (buffer) return buffer();
  if (Symbol.asyncIterator in body) return readAll(body as AsyncIterable<unknown>);
  return Buffer.from(String(body));
}

async function* chunksOf(reader: Reader): AsyncGenerator<unknown> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done === true) return;
    yield value;
  }
}

function typeOf(body: unknown): string | undefined {
  if (typeof body === "string") return "text/plain;charset=UTF-8";
  if (body instanceof URLSearchParams) return "application/x-www-form-urlencoded;charset=UTF-8";
  if (typeof body !== "object" || body === null) return undefined;
  if ("type" in body && "arrayBuffer" in body && typeof body.type === "string" && body.type !== "") return body.type;
  const headers = method<Record<string, string>>(body, "getHeaders")?.();
  return headers?.["content-type"];
}

function isFormData(body: unknown): body is FormData {
  return typeof body === "object" && body !== null && Reflect.get(body, Symbol.toStringTag) === "FormData";
}

export abstract class Body {
  abstract readonly headers: Headers;
  bodyUsed = false;
  #source: unknown = null;
  #stream: ReadableStream | undefined;

  /** Takes the body and names its type, where the headers do not. */
  protected take(body: unknown): void {
    this.#source = isFormData(body) ? formDataToBlob(body, Blob) : (body ?? null);
    const type = typeOf(this.#source);
    if (type !== undefined && !this.headers.has("content-type")) this.headers.set("content-type", type);
  }

  /** What the body was made of, for a copy. */
  get source(): unknown {
    return this.#source;
  }

  get body(): ReadableStream | null {
    if (this.#source === null) return null;
    this.#stream ??= this.#open();
    return this.#stream;
  }

  #open(): ReadableStream {
    const source = this.#source;
    return new ReadableStream({
      async start(controller) {
        const bytes = await bytesOfBody(source);
        if (bytes.byteLength > 0) controller.enqueue(new Uint8Array(bytes));
        controller.close();
      },
    });
  }

  async #bytes(): Promise<Uint8Array> {
    if (this.bodyUsed) throw new TypeError("Body is unusable: Body has already been read");
    this.bodyUsed = true;
    return bytesOfBody(this.#stream ?? this.#source);
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(await this.#bytes());
  }

  async arrayBuffer(): Promise<ArrayBufferLike> {
    return (await this.bytes()).buffer;
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.#bytes());
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async blob(): Promise<Blob> {
    return new Blob([await this.#bytes()], { type: this.headers.get("content-type") ?? "" });
  }

  /** node-fetch has it. */
  async buffer(): Promise<Buffer> {
    return Buffer.from(await this.#bytes());
  }
}
