/**
 * `node:buffer`, and the global `Buffer`: the package, with `base64url`, which it lacks.
 */
import * as buffer from "buffer/";

const { Buffer } = buffer;

const isBase64Url = (encoding: unknown): boolean => typeof encoding === "string" && /^base64url$/i.test(encoding);
const toStandard = (text: string): string => text.replaceAll("-", "+").replaceAll("_", "/");

const { isEncoding, from, byteLength } = Buffer;
const { toString: textOf, write } = Buffer.prototype;

Object.assign(Buffer, {
  isEncoding: (encoding: unknown) => isBase64Url(encoding) || isEncoding(String(encoding)),
  from(value: unknown, encoding?: unknown, length?: unknown) {
    const given =
      typeof value === "string" && isBase64Url(encoding) ? [toStandard(value), "base64"] : [value, encoding, length];
    return Reflect.apply(from, Buffer, given);
  },
  byteLength: (value: unknown, encoding?: unknown) =>
    Reflect.apply(byteLength, Buffer, [value, isBase64Url(encoding) ? "base64" : encoding]),
});
Object.assign(Buffer.prototype, {
  toString(this: object, encoding?: unknown, start?: unknown, end?: unknown) {
    if (!isBase64Url(encoding)) return Reflect.apply(textOf, this, [encoding, start, end]);
    const text: unknown = Reflect.apply(textOf, this, ["base64", start, end]);
    return String(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  },
  write(this: object, text: unknown, ...rest: unknown[]) {
    const at = rest.findIndex(isBase64Url);
    if (at === -1) return Reflect.apply(write, this, [text, ...rest]);
    return Reflect.apply(write, this, [toStandard(String(text)), ...rest.with(at, "base64")]);
  },
});

export { Buffer };

/** Bytes of whatever Node takes as data. */
export function bytesFrom(value: unknown, encoding?: string): Uint8Array {
  if (typeof value === "string") return Buffer.from(value, encoding as "utf8");
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return Uint8Array.from(value);
  throw Object.assign(new TypeError("The data must be a string, a buffer or a view of one"), {
    code: "ERR_INVALID_ARG_TYPE",
  });
}

export const bufferModule = {
  ...buffer,
  Buffer,
  constants: { MAX_LENGTH: 0x7fffffff, MAX_STRING_LENGTH: 0x1fffffe8 },
  isUtf8: (bytes: Uint8Array) => !Buffer.from(bytes).toString("utf8").includes("\ufffd"),
  isAscii: (bytes: Uint8Array) => bytes.every((byte) => byte < 128),
  atob: (text: string) => Buffer.from(text, "base64").toString("latin1"),
  btoa: (text: string) => Buffer.from(text, "latin1").toString("base64"),
};
