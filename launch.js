/*
 * Starts server/main.ts on a Node that can run it. This file must parse on old Node versions (12.17 and newer), so
 * that a host which is too old gets a sentence and not a stack: no `node:` imports, no optional chaining, no
 * top-level await.
 *
 * Order: the Node that the `node` package put under node_modules, then the one running this file. Both must be 24 or
 * newer: 22.18 strips types too, but its node:sqlite is not the one this project is tested with.
 */
// biome-ignore-start lint/style/useNodejsImportProtocol: Node before 14.13 does not know the protocol
import childProcess from "child_process";
import fs from "fs";
import nodeModule from "module";
import os from "os";
import path from "path";
import { fileURLToPath, pathToFileURL } from "url";

// biome-ignore-end lint/style/useNodejsImportProtocol: see above

const NEEDED_MAJOR = 24;
const root = path.dirname(fileURLToPath(import.meta.url));
const main = path.join(root, "server", "main.ts");
const argv = process.argv.slice(2);

/** `v24.21.0` -> 24; NaN for anything else. */
function majorOf(version) {
  const match = /^v(\d+)\./.exec(version);
  return match === null ? Number.NaN : Number(match[1]);
}

/** The path behind links, or undefined where nothing is. */
function realPath(file) {
  try {
    return fs.realpathSync(file);
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Node under node_modules that answers `--version` with 24 or newer (the package may hold another platform's). */
function installedNode() {
  const name = process.platform === "win32" ? "node.exe" : "node";
  const places = [path.join("node_modules", "node", "bin", name), path.join("node_modules", ".bin", name)];
  for (const place of places) {
    const file = realPath(path.join(root, place));
    if (file === undefined) continue;
    if (file === realPath(process.execPath)) return file;
    const answer = childProcess.spawnSync(file, ["--version"], { encoding: "utf8", timeout: 10000 });
    if (answer.status === 0 && majorOf(answer.stdout.trim()) >= NEEDED_MAJOR) return file;
  }
  return undefined;
}

/**
 * Folder for Node's compile cache, which makes a start several times faster. Code is read back from it, so it lies
 * in the user's own cache folder and never in a shared temporary one; undefined where the user has no home.
 */
function compileCache() {
  if (process.env.NODE_COMPILE_CACHE) return process.env.NODE_COMPILE_CACHE;
  if (process.env.XDG_CACHE_HOME) return path.join(process.env.XDG_CACHE_HOME, "jackfield", "compile");
  const home = os.homedir();
  if (!home || realPath(home) === undefined) return undefined;
  if (process.platform === "darwin") return path.join(home, "Library", "Caches", "jackfield", "compile");
  if (process.platform === "win32") return path.join(home, "AppData", "Local", "jackfield", "compile");
  return path.join(home, ".cache", "jackfield", "compile");
}

function fail(line) {
  process.stderr.write(`jackfield: ${line}\n`);
  process.exitCode = 1;
}

/** Runs main.ts in this process: nothing stands between the signals and the server. */
function runHere(cache) {
  if (cache !== undefined) {
    process.env.NODE_COMPILE_CACHE = cache;
    if (nodeModule.enableCompileCache) nodeModule.enableCompileCache(cache);
  }
  process.argv[1] = main;
  import(pathToFileURL(main).href).catch((error) => {
    fail(`cannot start: ${error.message}`);
  });
}

/** Runs main.ts under another Node, passes signals on and ends as the child ended. */
function runUnder(node, cache) {
  const env = Object.assign({}, process.env);
  if (cache !== undefined) env.NODE_COMPILE_CACHE = cache;
  const child = childProcess.spawn(node, [main].concat(argv), { stdio: "inherit", env });
  const signals = process.platform === "win32" ? ["SIGINT", "SIGTERM"] : ["SIGINT", "SIGTERM", "SIGHUP"];
  const forward = (signal) => {
    child.kill(signal);
  };
  signals.forEach((signal) => {
    process.on(signal, forward);
  });
  child.on("error", (error) => {
    fail(`cannot run ${node}: ${error.message}`);
  });
  child.on("exit", (code, signal) => {
    signals.forEach((name) => {
      process.removeListener(name, forward);
    });
    if (signal === null) process.exit(code);
    // The caller should see the same end: killed by a signal, not an exit code that stands for one.
    process.kill(process.pid, signal);
  });
}

const installed = installedNode();
if (installed === realPath(process.execPath) && installed !== undefined) runHere(compileCache());
else if (installed !== undefined) runUnder(installed, compileCache());
else if (majorOf(process.version) >= NEEDED_MAJOR) runHere(compileCache());
else {
  const advice =
    process.platform === "darwin"
      ? "install Node 24 from https://nodejs.org"
      : "run `npm ci` (it installs one for this project) or install Node 24 from https://nodejs.org";
  fail(`Node ${NEEDED_MAJOR} or newer is needed and this is ${process.version}: ${advice}.`);
}
