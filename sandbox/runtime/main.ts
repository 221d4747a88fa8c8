/**
 * What code inside the sandbox sees, and the functions by which the worker drives it. Built to one script, of which V8
 * keeps a snapshot; nothing here may draw randomness, take the time or reach the worker while it loads.
 */
import "./globals-first.ts";
import "./globals.ts";
import { connect, forgetRequests, type HostFunctions, refuse, resetLog, settle } from "./bridge.ts";
import { addFile } from "./fs.ts";
import { require } from "./modules.ts";
import { call } from "./piece/call.ts";
import { failureOf } from "./piece/failure.ts";
import { type GivenFile, WrittenFiles } from "./piece/files.ts";
import { findPiece, type Piece } from "./piece/find.ts";
import { packFailure, packResult } from "./piece/outcome.ts";
import { byteLengthOf, copyOf, sliceText } from "./primordials.ts";
import { fire, forgetTimers } from "./timers.ts";

type Bundle = (
  this: object,
  exports: object,
  require: unknown,
  module: { exports: object },
  filename: string,
  directory: string,
) => void;

interface Limits {
  readonly result: number;
  readonly files: number;
}

let piece: Piece | undefined;
let outcome: ArrayBuffer | undefined;
let ended: () => void = () => undefined;

/** The first thing that happens: the worker's functions come in, and what the piece may not have goes. */
function open(functions: HostFunctions, whenEnded: () => void, keepWasm: boolean): void {
  connect(functions);
  ended = whenEnded;
  if (keepWasm) return;
  for (const name of ["WebAssembly", "SharedArrayBuffer", "Atomics"]) Reflect.deleteProperty(globalThis, name);
}

/** Evaluates the bundle. Returns what is wrong with it, at most 600 characters, or undefined. */
function load(bundle: Bundle): string | undefined {
  const module = { exports: {} };
  try {
    Reflect.apply(bundle, module.exports, [module.exports, require, module, "/piece/bundle.js", "/piece"]);
    piece = findPiece(module.exports);
    return undefined;
  } catch (error) {
    return sliceText(failureOf(error).message || "the bundle failed", 0, 600);
  }
}

/** Begins a call; `ended` tells when `take` has its outcome. `names`: JSON of the files' names and extensions. */
function start(kind: string, json: string, limits: Limits, names: string, ...data: ArrayBuffer[]): void {
  outcome = undefined;
  resetLog();
  const written = new WrittenFiles();
  const described: { name: string; extension: string }[] = JSON.parse(names);
  const given: GivenFile[] = described.map((file, index) => ({ ...file, data: data[index] ?? new ArrayBuffer(0) }));
  work(kind, json, limits, given, written).then(end, (error: unknown) => end(packFailure(error)));
}

async function work(
  kind: string,
  json: string,
  limits: Limits,
  given: readonly GivenFile[],
  written: WrittenFiles,
): Promise<ArrayBuffer> {
  if (piece === undefined) throw new Error("no piece is loaded");
  return packResult(await call(piece, kind, json, given, written), limits, written);
}

function end(packed: ArrayBuffer): void {
  outcome = packed;
  forgetTimers();
  forgetRequests();
  ended();
}

/** The outcome, in a copy that no code of the piece had a hand in; its size where it is larger than `limit` bytes. */
function take(limit: number): ArrayBuffer | number | undefined {
  const packed = outcome;
  outcome = undefined;
  if (packed === undefined) return undefined;
  const size = byteLengthOf(packed);
  return size > limit ? size : copyOf(packed);
}

/** The worker takes this and removes it before anything else runs. */
export const sandbox = { open, load, start, settle, refuse, fire, take, addFile };
export type Sandbox = typeof sandbox;

Object.defineProperty(globalThis, "__sandbox", { value: sandbox, configurable: true });
