/**
 * Builds what a worker runs, on the machine that runs it: the worker itself, the runtime that code inside sees, later
 * the runtime's snapshot and the code caches of bundles. All are kept in a folder named by everything that they depend
 * on, readable by us alone: V8 trusts snapshots and code caches blindly, so none from elsewhere is ever loaded.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);

/** Packages of which parts end up in the runtime. */
const PACKAGES = [
  ...["assert", "browserify-zlib", "buffer", "core-js", "esbuild", "event-target-shim", "events", "fetch-blob"],
  ...["formdata-polyfill", "isolated-vm", "path-browserify", "punycode", "querystring-es3", "readable-stream"],
  ...["string_decoder", "url", "util", "web-streams-polyfill"],
];
const UNUSED_DAYS = 14;

export interface Build {
  /** Absolute path of the folder. */
  readonly directory: string;
  readonly worker: string;
  readonly runtime: string;
  readonly snapshot: string;
  /** File for the code cache of a bundle. */
  codeCache(hash: string): string;
}

/** Bundles worker and runtime into the cache folder, unless they are there. */
export async function buildRuntime(cacheDirectory: string): Promise<Build> {
  const directory = join(cacheDirectory, await keyOf());
  const build: Build = {
    directory,
    worker: join(directory, "worker.mjs"),
    runtime: join(directory, "runtime.js"),
    snapshot: join(directory, "runtime.snapshot"),
    codeCache: (hash) => join(directory, `${hash}.cache`),
  };
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const now = new Date();
  await utimes(directory, now, now);
  await removeUnused(cacheDirectory);
  if (!(await exists(build.worker)) || !(await exists(build.runtime))) await bundle(build);
  return build;
}

/** Puts a file there as a whole, readable by us alone. */
export async function writePrivately(file: string, data: string | Uint8Array): Promise<void> {
  const temporary = `${file}.${randomUUID()}`;
  const handle = await open(temporary, "wx", 0o600);
  try {
    await handle.writeFile(data);
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
}

export async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch {
    return false;
  }
}

/** Everything that decides whether an older build still fits: our sources, the packages, Node, V8, the machine. */
async function keyOf(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of (await readdir(HERE, { recursive: true })).sort()) {
    if (name.endsWith(".ts")) hash.update(`${name}\n`).update(await readFile(join(HERE, name)));
  }
  for (const name of PACKAGES) hash.update(`${name}@${await versionOf(name)}\n`);
  hash.update(`${process.version} ${process.versions.v8} ${process.platform} ${process.arch}`);
  return hash.digest("hex").slice(0, 32);
}

/** The version of an installed package; its manifest need not be exported. */
async function versionOf(name: string): Promise<string> {
  for (const directory of require.resolve.paths(`${name}/`) ?? []) {
    const file = join(directory, name, "package.json");
    if (!(await exists(file))) continue;
    const manifest: { version?: unknown } = JSON.parse(await readFile(file, "utf8"));
    return String(manifest.version);
  }
  return "absent";
}

async function bundle(build: Build): Promise<void> {
  // Loaded here only: it is a large package, and mostly there is nothing to build.
  const esbuild = await import("esbuild");
  const options = { bundle: true, write: false, logLevel: "silent", target: "es2024", legalComments: "none" } as const;
  const [worker, runtime] = await Promise.all([
    esbuild.build({ ...options, entryPoints: [join(HERE, "worker.ts")], format: "esm", platform: "node" }),
    esbuild.build({
      ...options,
      entryPoints: [join(HERE, "runtime", "main.ts")],
      format: "iife",
      platform: "browser",
      minifyWhitespace: true,
      minifySyntax: true,
      // Libraries tell objects apart by the name of their class: node-fetch looks for an `AbortSignal`.
      keepNames: true,
      define: { "process.env.NODE_ENV": '"production"', "process.env.READABLE_STREAM": "undefined" },
      alias: aliases(),
    }),
  ]);
  await writePrivately(build.runtime, runtime.outputFiles[0]?.contents ?? "");
  await writePrivately(build.worker, worker.outputFiles[0]?.contents ?? "");
}

/** What the packages of the runtime import of Node, as the package that stands in for it. */
function aliases(): Record<string, string> {
  const stand = (name: string): string => dirname(require.resolve(`${name}/package.json`));
  const nothing = join(HERE, "runtime", "nothing.ts");
  return {
    assert: stand("assert"),
    buffer: stand("buffer"),
    events: stand("events"),
    path: stand("path-browserify"),
    process: join(HERE, "runtime", "process.ts"),
    punycode: stand("punycode"),
    stream: stand("readable-stream"),
    string_decoder: stand("string_decoder"),
    url: stand("url"),
    util: stand("util"),
    // Looked for by polyfills that also run in Node; the globals of the runtime serve them.
    "node:buffer": nothing,
    "node:fs": nothing,
    "node:process": nothing,
    "node:stream/web": nothing,
    worker_threads: nothing,
  };
}

/** Removes the builds of versions that have not been used for a while. */
async function removeUnused(cacheDirectory: string): Promise<void> {
  for (const name of await readdir(cacheDirectory)) {
    if (!/^[0-9a-f]{32}$/.test(name)) continue;
    const directory = join(cacheDirectory, name);
    const { mtimeMs } = await stat(directory);
    if (Date.now() - mtimeMs > UNUSED_DAYS * 86_400_000) await rm(directory, { recursive: true, force: true });
  }
}
