/**
 * One installed package -> one file. esbuild only reads what it bundles: no code of the package runs here.
 *
 * Parts of Node stay outside, since the sandbox has forms of its own for them; so does what cannot be found, because
 * packages try optional dependencies and go on without them.
 */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { type BuildFailure, build, type Plugin } from "esbuild";
import { JackfieldError } from "../errors.ts";
import type { PieceVersion } from "./names.ts";

/** Native code and browsers: nothing of them can run, so what needs them says so when it is called. */
const ABSENT =
  /^(?:sharp|canvas|fsevents|oracledb|playwright|playwright-core|puppeteer|puppeteer-core|chromium-bidi)(?:\/|$)/;
/** Bytes of one bundle, and of one file that goes beside it. */
const MAX_BUNDLE = 20 * 1024 * 1024;
const MAX_WASM = 4 * 1024 * 1024;

export interface Bundled {
  /** SHA-256 over names and contents of the folder. */
  hash: string;
  /** Names of the packages inside, and of those left outside. */
  packages: string[];
  /** The text, for looking into. */
  code: string;
}

/**
 * Bundles a piece into a folder: `bundle.js` and the `*.wasm` that stand beside what it is made of.
 * @param installed folder that npm installed into
 * @throws JackfieldError `piece_refused` where it cannot be bundled
 */
export async function bundlePiece(installed: string, { name }: PieceVersion, target: string): Promise<Bundled> {
  mkdirSync(target, { recursive: true, mode: 0o700 });
  const outfile = join(target, "bundle.js");
  let inputs: string[];
  let outside: string[];
  try {
    const { metafile } = await build({
      stdin: { contents: `module.exports = require(${JSON.stringify(name)});`, resolveDir: installed, loader: "js" },
      absWorkingDir: installed,
      outfile,
      bundle: true,
      platform: "node",
      format: "cjs",
      target: "es2022",
      minifyWhitespace: true,
      minifySyntax: true,
      // Names of classes and functions stay: code of packages asks for them.
      minifyIdentifiers: false,
      legalComments: "none",
      logLevel: "silent",
      metafile: true,
      loader: { ".node": "empty" },
      plugins: [absentPackages, unfoundStaysOutside],
      define: { "import.meta.url": '"file:///piece.js"' },
    });
    inputs = Object.keys(metafile.inputs);
    outside = Object.values(metafile.outputs).flatMap(({ imports }) =>
      imports.filter(({ external }) => external).map(({ path }) => path),
    );
  } catch (cause) {
    throw notBundled(cause);
  }
  const bytes = statSync(outfile).size;
  if (bytes > MAX_BUNDLE) throw refused(`its bundle has ${bytes} bytes, more than ${MAX_BUNDLE}`);
  copyWasm(installed, inputs, target);
  const code = readFileSync(outfile, "utf8");
  putInlineWasm(code, target);
  const packages = [
    ...inputs.map(packageIn),
    ...dependenciesOf(installed, name),
    ...outside.filter((path) => !isBuiltin(path)),
  ];
  return { hash: hashOf(target), packages: [...new Set(packages.filter((found) => found !== ""))].sort(), code };
}

/** In place of an absent package: anything may be read of it, nothing may be called. */
const ABSENT_CODE = `
const absent = (path) => {
  const fail = () => {
    throw Object.assign(new Error(path + " is not available in the sandbox"), { code: "ERR_SANDBOX_UNAVAILABLE" });
  };
  const get = (target, key) =>
    key === "__esModule" ? true : typeof key === "symbol" || key === "then" ? undefined : absent(path + "." + key);
  // A bundler copies a module into an object that inherits from the prototype of the module.
  const prototype = new Proxy({}, { get });
  return new Proxy(function () {}, {
    get: (target, key) => (key === "prototype" ? target.prototype : get(target, key)),
    getPrototypeOf: () => prototype,
    apply: fail,
    construct: fail,
  });
};
module.exports = absent(NAME);
`;

const absentPackages: Plugin = {
  name: "absent packages",
  setup(building) {
    building.onResolve({ filter: ABSENT }, ({ path }) => ({ path: path.split("/")[0] ?? path, namespace: "absent" }));
    building.onLoad({ filter: /.*/, namespace: "absent" }, ({ path }) => ({
      contents: ABSENT_CODE.replace("NAME", JSON.stringify(path)),
      loader: "js",
    }));
  },
};

/** Whatever is not there is left for the code to miss. */
const unfoundStaysOutside: Plugin = {
  name: "unfound stays outside",
  setup(building) {
    building.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...rest }) => {
      if (pluginData === "asked" || isBuiltin(path)) return undefined;
      const { importer, kind, namespace, resolveDir } = rest;
      const found = await building.resolve(path, { importer, kind, namespace, resolveDir, pluginData: "asked" });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

/** Packages read their WebAssembly from a file beside their code; the sandbox looks for it by its name. */
function copyWasm(installed: string, inputs: readonly string[], target: string): void {
  const folders = new Set(
    inputs.filter((input) => !/^absent:|^</.test(input)).map((input) => dirname(resolve(installed, input))),
  );
  for (const folder of folders) {
    const within = resolve(folder).startsWith(resolve(installed, "node_modules"));
    if (!within) continue;
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      if (name.endsWith(".wasm") && statSync(path).isFile() && statSync(path).size <= MAX_WASM) {
        cpSync(path, join(target, basename(name)));
      }
    }
  }
}

/** What a piece names as its dependencies: a file that it starts as a program of its own is in no bundle. */
function dependenciesOf(installed: string, name: string): string[] {
  const manifest: { dependencies?: Record<string, unknown> } = JSON.parse(
    readFileSync(join(installed, "node_modules", name, "package.json"), "utf8"),
  );
  return Object.keys(manifest.dependencies ?? {});
}

/** WebAssembly that stands in the code as text counts as shipped too: the sandbox allows it by the files it finds. */
function putInlineWasm(code: string, target: string): void {
  if (!code.includes("WebAssembly")) return;
  const modules = [
    ...code.matchAll(/["'`](?:data:application\/(?:wasm|octet-stream);base64,)?(AGFzbQ[A-Za-z0-9+/]{90,}={0,2})["'`]/g),
  ];
  for (const [index, match] of modules.slice(0, 8).entries()) {
    const bytes = Buffer.from(match[1] ?? "", "base64");
    if (bytes.length <= MAX_WASM) writeFileSync(join(target, `inline-${index}.wasm`), bytes, { mode: 0o600 });
  }
}

/** The package of a file below `node_modules`, or that stands absent; empty for others. */
function packageIn(path: string): string {
  if (path.startsWith("absent:")) return path.slice("absent:".length);
  const below = path.split("node_modules/").at(-1) ?? "";
  if (!path.includes("node_modules/")) return "";
  const [first = "", second = ""] = below.split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}

/** What a bundle's folder is called by: its code and its WebAssembly, nothing that was told about it later. */
export function hashOf(folder: string): string {
  const hash = createHash("sha256");
  const names = readdirSync(folder).filter((name) => name === "bundle.js" || name.endsWith(".wasm"));
  for (const name of names.sort()) {
    const content = createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
    hash.update(`${name}\0${content}\n`);
  }
  return hash.digest("hex");
}

/** Writes a file into a bundle's folder. */
export function putBeside(folder: string, name: string, content: string): void {
  writeFileSync(join(folder, name), content, { mode: 0o600 });
}

function notBundled(cause: unknown): JackfieldError {
  const errors = isBuildFailure(cause) ? cause.errors.map(({ text }) => text) : [String(cause)];
  return refused(`it cannot be bundled: ${errors.slice(0, 3).join("; ").slice(0, 500)}`, cause);
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

function refused(text: string, cause?: unknown): JackfieldError {
  return new JackfieldError("piece_refused", { text, ...(cause === undefined ? {} : { cause }) });
}
