/** `TextEncoder` and `TextDecoder` on top of Buffer: an isolate has neither. */
import { StringDecoder } from "string_decoder/";
import { Buffer, bytesFrom } from "./buffer.ts";

export class TextEncoder {
  readonly encoding = "utf-8";

  encode(text = ""): Uint8Array {
    return new Uint8Array(Buffer.from(String(text), "utf8"));
  }

  encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
    let read = 0;
    let written = 0;
    for (const character of String(text)) {
      const bytes = this.encode(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

/** Labels of the Encoding standard that pieces use, and what Buffer calls them. */
const ENCODINGS: Readonly<Record<string, readonly [name: string, encoding: BufferEncoding]>> = {
  "utf-8": ["utf-8", "utf8"],
  utf8: ["utf-8", "utf8"],
  "unicode-1-1-utf-8": ["utf-8", "utf8"],
  "utf-16le": ["utf-16le", "utf16le"],
  "utf-16": ["utf-16le", "utf16le"],
  "ucs-2": ["utf-16le", "utf16le"],
  latin1: ["windows-1252", "latin1"],
  "iso-8859-1": ["windows-1252", "latin1"],
  "windows-1252": ["windows-1252", "latin1"],
  ascii: ["windows-1252", "latin1"],
  "us-ascii": ["windows-1252", "latin1"],
};

export class TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  readonly #bufferEncoding: BufferEncoding;
  #decoder: StringDecoder | undefined;

  constructor(label = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const found = ENCODINGS[String(label).trim().toLowerCase()];
    if (found === undefined) throw new RangeError(`The "${label}" encoding is not available in the sandbox`);
    [this.encoding, this.#bufferEncoding] = found;
    this.fatal = options.fatal === true;
    this.ignoreBOM = options.ignoreBOM === true;
  }

  decode(data?: ArrayBuffer | ArrayBufferView, options: { stream?: boolean } = {}): string {
    const first = this.#decoder === undefined;
    this.#decoder ??= new StringDecoder(this.#bufferEncoding);
    let text = data === undefined ? "" : this.#decoder.write(Buffer.from(bytesFrom(data)));
    if (options.stream !== true) {
      text += this.#decoder.end();
      this.#decoder = undefined;
    }
    if (this.fatal && text.includes("\ufffd")) {
      throw Object.assign(new TypeError("The encoded data was not valid"), {
        code: "ERR_ENCODING_INVALID_ENCODED_DATA",
      });
    }
    return first && !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}
