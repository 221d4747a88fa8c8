/** `node:fs` and `node:fs/promises`: no file system, but the `.wasm` files that the piece ships. */
import { Buffer } from "./buffer.ts";
import { Readable } from "./stream.ts";
import { standIn, unavailable } from "./unavailable.ts";

const shipped = new Map<string, ArrayBuffer>();

/** A file of the piece; found under its bare name wherever the code looks for it. */
export function addFile(name: string, data: ArrayBuffer): void {
  shipped.set(name, data);
}

function missing(path: unknown): Error {
  const message = `ENOENT: no such file or directory, open '${String(path).slice(0, 200)}' (the sandbox has no file system)`;
  return Object.assign(new Error(message), { code: "ENOENT", errno: -2, syscall: "open" });
}

type ReadOptions = string | { encoding?: string } | null | undefined;

function readFileSync(path: unknown, options?: ReadOptions): Buffer | string {
  const data = shipped.get(String(path).split("/").at(-1) ?? "");
  if (data === undefined) throw missing(path);
  const encoding = typeof options === "string" ? options : options?.encoding;
  const bytes = Buffer.from(data);
  return encoding === undefined ? bytes : bytes.toString(encoding as "utf8");
}

const failing = (path: unknown): never => {
  throw missing(path);
};

/** The callback form: the last argument is told that nothing is there. */
const failingLater = (path: unknown, ...rest: unknown[]): void => {
  const callback = rest.at(-1);
  if (typeof callback === "function") queueMicrotask(() => callback(missing(path)));
};

/** `readFile(path, options?, callback)`. */
function readFile(path: unknown, ...rest: unknown[]): void {
  const callback = rest.at(-1);
  if (typeof callback !== "function") throw new TypeError("The callback must be a function");
  const options = typeof rest[0] === "function" ? undefined : (rest[0] as ReadOptions);
  queueMicrotask(() => {
    let data: Buffer | string;
    try {
      data = readFileSync(path, options);
    } catch (error) {
      callback(error);
      return;
    }
    callback(null, data);
  });
}

class NoFileStream extends Readable {
  constructor() {
    super();
    throw unavailable("a stream of a file");
  }
}

const constants = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, O_RDONLY: 0 };
const failingAsync = async (path: unknown): Promise<never> => failing(path);

export const fsPromises = standIn("fs.promises", {
  readFile: async (path: unknown, options?: ReadOptions) => readFileSync(path, options),
  stat: failingAsync,
  lstat: failingAsync,
  access: failingAsync,
  readdir: failingAsync,
  open: failingAsync,
  constants,
});

export const fs = standIn("fs", {
  existsSync: (path: unknown) => shipped.has(String(path).split("/").at(-1) ?? ""),
  statSync(path: unknown, options?: { throwIfNoEntry?: boolean }) {
    if (options?.throwIfNoEntry === false) return undefined;
    throw missing(path);
  },
  lstatSync: failing,
  accessSync: failing,
  readdirSync: failing,
  openSync: failing,
  readFileSync,
  realpathSync: Object.assign((path: unknown) => path, { native: (path: unknown) => path }),
  stat: failingLater,
  lstat: failingLater,
  access: failingLater,
  readdir: failingLater,
  open: failingLater,
  readFile,
  exists: (_path: unknown, callback: (exists: boolean) => void) => callback(false),
  constants,
  promises: fsPromises,
  Stats: class Stats {},
  ReadStream: NoFileStream,
  WriteStream: NoFileStream,
});
