/** What `require` gives inside the sandbox. */
import assert from "assert/";
import path from "path-browserify";
import punycode from "punycode/";
import querystring from "querystring-es3";
import { StringDecoder } from "string_decoder/";
import { asyncHooks } from "./async-hooks.ts";
import { bufferModule } from "./buffer.ts";
import { console } from "./console.ts";
import { crypto } from "./crypto.ts";
import { diagnosticsChannel } from "./diagnostics-channel.ts";
import { events } from "./events.ts";
import { fs, fsPromises } from "./fs.ts";
import { http, https } from "./http.ts";
import { MessageChannel, MessagePort } from "./message-channel.ts";
import { dns, dnsPromises, http2, net, tls } from "./net.ts";
import { util } from "./node-util.ts";
import { os } from "./os.ts";
import { perfHooks } from "./performance.ts";
import { process } from "./process.ts";
import { stream, streamConsumers, webStreams } from "./stream.ts";
import { timers, timersPromises } from "./timers.ts";
import { standIn } from "./unavailable.ts";
import { urlModule } from "./url.ts";
import { zlibModule } from "./zlib.ts";

const posix = Object.assign(path, { posix: path, win32: path });

const modules = new Map<string, unknown>(
  Object.entries({
    assert,
    "assert/strict": assert,
    async_hooks: asyncHooks,
    buffer: bufferModule,
    console,
    constants: {},
    crypto,
    diagnostics_channel: diagnosticsChannel,
    dns,
    "dns/promises": dnsPromises,
    events,
    fs,
    "fs/promises": fsPromises,
    http,
    http2,
    https,
    module: standIn("module", { createRequire: () => require, builtinModules: [], isBuiltin: () => false }),
    net,
    os,
    path: posix,
    "path/posix": posix,
    "path/win32": posix,
    perf_hooks: perfHooks,
    process,
    punycode,
    querystring,
    stream,
    "stream/consumers": streamConsumers,
    "stream/promises": stream.promises,
    "stream/web": webStreams,
    string_decoder: { StringDecoder },
    sys: util,
    timers,
    "timers/promises": timersPromises,
    tls,
    tty: { isatty: () => false, ReadStream: class ReadStream {}, WriteStream: class WriteStream {} },
    url: urlModule,
    util,
    "util/types": util.types,
    v8: standIn("v8", { getHeapStatistics: () => ({ heap_size_limit: 2 ** 27 }) }),
    worker_threads: standIn("worker_threads", {
      isMainThread: true,
      parentPort: null,
      threadId: 0,
      workerData: null,
      MessageChannel,
      MessagePort,
    }),
    zlib: zlibModule,
  }),
);

/** Modules of Node, and native packages that bundles leave out, which load but cannot be used. */
for (const name of [
  ...["child_process", "cluster", "dgram", "domain", "inspector", "inspector/promises", "readline"],
  ...["readline/promises", "repl", "sea", "sqlite", "test", "trace_events", "vm", "wasi"],
  ...["bufferutil", "canvas", "chromium-bidi", "oracledb", "playwright", "sharp", "utf-8-validate"],
]) {
  modules.set(name, standIn(name));
}

function find(specifier: string): unknown {
  const name = specifier.replace(/^node:/, "");
  if (modules.has(name)) return modules.get(name);
  // A file inside a package that stands for a native part.
  const owner = name.split("/", 1)[0];
  if (owner !== undefined && /^(?:chromium-bidi|playwright|sharp)$/.test(owner)) return modules.get(owner);
  throw Object.assign(new Error(`Cannot find module '${specifier.slice(0, 200)}' in the sandbox`), {
    code: "MODULE_NOT_FOUND",
  });
}

export const require = Object.assign((specifier: unknown): unknown => find(String(specifier)), {
  resolve: Object.assign((specifier: string) => specifier, { paths: () => null }),
  cache: {},
  main: undefined,
  extensions: {},
});

/** Adds what only exists once the globals do. */
export function addToBuffer(globals: { Blob: unknown; File: unknown }): void {
  Object.assign(bufferModule, globals);
}
