/** How a worker process is started: what it may read, which network it sees. */
import { type ChildProcess, execFile, fork } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { SandboxError } from "./contract.ts";

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** Heap of the worker's own JavaScript in megabytes; isolates have limits of their own. */
const WORKER_HEAP_MB = 128;

export interface Launch {
  /** The bundled worker. */
  readonly worker: string;
  /** Folders and files that it may read. */
  readonly readable: readonly string[];
  /** An empty folder. */
  readonly workingDirectory: string;
  readonly native: string;
  readonly namespace: Namespace;
}

/** A program that starts another one in an empty network namespace, or nothing where the platform has none. */
export type Namespace = { readonly program: string; readonly args: readonly string[] } | undefined;

/**
 * Finds out how this process may make an empty network namespace. A user namespace beside it also takes away what
 * root may do; where that is not allowed, root makes the network namespace alone. Containers mostly allow neither.
 */
export async function findNamespace(): Promise<Namespace> {
  if (process.platform !== "linux") return undefined;
  const program = ["/usr/bin/unshare", "/bin/unshare"].find((file) => existsSync(file));
  if (program === undefined) return undefined;
  for (const args of [
    ["--user", "--net", "--"],
    ["--net", "--"],
  ]) {
    try {
      await run(program, [...args, process.execPath, "--version"], { timeout: 10_000, env: {} });
      return { program, args };
    } catch {
      // Not permitted here; the next way, or none.
    }
  }
  return undefined;
}

/** The native part of isolated-vm for this platform. It is loaded by workers only. @throws SandboxError */
export function findNative(): string {
  try {
    const locate: { path(directory: string): string } = require("node-gyp-build");
    return realpathSync(locate.path(dirname(require.resolve("isolated-vm/package.json"))));
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n", 1)[0] : "";
    throw new SandboxError("sandbox_unavailable", `isolated-vm cannot be used on this machine: ${reason}`, {
      processed: "no",
    });
  }
}

/** Starts a worker: empty environment, empty folder, no descriptors but the channel and a pipe for its last words. */
export function startWorker({ worker, readable, workingDirectory, native, namespace }: Launch): ChildProcess {
  const node = [
    // Asked for by isolated-vm since Node 20.
    "--no-node-snapshot",
    `--max-old-space-size=${WORKER_HEAP_MB}`,
    "--permission",
    // For isolated-vm, which is loaded before anything else; the worker then gives the ability away.
    "--allow-addons",
    ...[native, ...readable].map((path) => `--allow-fs-read=${path}`),
    // These open files or sockets in ways the permission model does not see.
    "--no-experimental-sqlite",
    "--no-experimental-websocket",
    "--disable-warning=PERM0001",
    "--disable-warning=SecurityWarning",
  ];
  const program = namespace?.program ?? process.execPath;
  const before = namespace === undefined ? [] : [...namespace.args, process.execPath];
  return fork(worker, [native], {
    execPath: program,
    execArgv: [...before, ...node],
    cwd: workingDirectory,
    env: {},
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    serialization: "advanced",
    windowsHide: true,
  });
}
