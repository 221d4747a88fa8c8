/**
 * The outcome of a call as one ArrayBuffer: four bytes with the length of a JSON head, the head, the JSON of the result,
 * the files. Never a string: one is cheap in here as a rope and is flattened, larger than the isolate, where it goes.
 */
import { Buffer } from "../buffer.ts";
import { CallError, type FailureData, failureOf } from "./failure.ts";
import type { WrittenFiles } from "./files.ts";

/** The start of an outcome. */
export interface OutcomeHead {
  readonly failure?: FailureData;
  readonly resultBytes: number;
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
}

/** JSON of whatever an action returns. Bytes become files; what refers back to itself is cut. */
export function jsonOf(value: unknown, limit: number, files: WrittenFiles): string {
  const above: unknown[] = [];
  let size = 0;
  const spend = (characters: number): void => {
    size += characters;
    if (size > limit) throw tooLarge(limit);
  };
  function replace(this: unknown, key: string, given: unknown): unknown {
    spend(key.length + 4);
    // Buffers have been turned into arrays of numbers by their toJSON; look at what stood there.
    const original: unknown = typeof this === "object" && this !== null ? Reflect.get(this, key) : given;
    if (original instanceof ArrayBuffer || ArrayBuffer.isView(original))
      return files.add(`${key || "result"}.bin`, original);
    if (typeof given === "bigint") return String(given);
    if (typeof given === "string") spend(given.length);
    if (typeof given !== "object" || given === null) return given;
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(given)) return "[circular]";
    above.push(given);
    return given;
  }
  const json = JSON.stringify(value, replace) ?? "null";
  if (json.length > limit) throw tooLarge(limit);
  return json;
}

function tooLarge(limit: number): CallError {
  return new CallError("result_too_large", `The result is larger than ${limit} bytes; ask for less at a time.`);
}

function pack(head: OutcomeHead, parts: readonly Uint8Array[]): ArrayBuffer {
  const text = Buffer.from(JSON.stringify(head), "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length, 0);
  return new Uint8Array(Buffer.concat([length, text, ...parts])).buffer;
}

export function packFailure(thrown: unknown): ArrayBuffer {
  return pack({ failure: failureOf(thrown), resultBytes: 0, files: [] }, []);
}

export function packResult(
  value: unknown,
  limits: { result: number; files: number },
  files: WrittenFiles,
): ArrayBuffer {
  const json = Buffer.from(jsonOf(value, limits.result, files), "utf8");
  if (json.length > limits.result) throw tooLarge(limits.result);
  const total = files.list.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (total > limits.files) {
    throw new CallError("result_too_large", `The files of the result are larger than ${limits.files} bytes.`);
  }
  const described = files.list.map(({ name, data }) => ({ name, bytes: data.byteLength }));
  return pack({ resultBytes: json.length, files: described }, [json, ...files.list.map(({ data }) => data)]);
}
