/** Files of a call: those that came with it, and those that the piece wrote. */
import { Buffer, bytesFrom } from "../buffer.ts";
import { isEntry } from "./find.ts";

export interface GivenFile {
  readonly name: string;
  readonly extension: string;
  readonly data: ArrayBuffer;
}

const MARK = "sandbox:file";
const DEEPEST = 64;

/** The props with a file of Activepieces in place of each `{ "sandbox:file": <index> }`. */
export function withFiles(value: unknown, files: readonly GivenFile[], depth = 0): unknown {
  if (!isEntry(value) || depth > DEEPEST) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withFiles(item, files, depth + 1));
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === MARK) {
    const file = files[Number(value[MARK])];
    if (file === undefined) throw new RangeError("there is no such file with this call");
    return apFile(file);
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withFiles(item, files, depth + 1)]));
}

/** What `Property.File` gives an action (`ApFile` of the framework). */
function apFile({ name, extension, data }: GivenFile): object {
  const bytes = Buffer.from(data);
  return {
    filename: name,
    extension,
    data: bytes,
    get base64(): string {
      return bytes.toString("base64");
    },
  };
}

/** Collects what the piece writes. */
export class WrittenFiles {
  readonly list: { readonly name: string; readonly data: Uint8Array }[] = [];

  /** Keeps the bytes; returns the text that stands for them in the result. */
  add(name: string, data: unknown): string {
    this.list.push({ name: String(name).slice(0, 200), data: Uint8Array.from(bytesFrom(data)) });
    return `${MARK}:${this.list.length - 1}`;
  }
}
