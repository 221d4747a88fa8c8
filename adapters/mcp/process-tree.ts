/** A child in a process group of its own, so that whatever it starts ends with it. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { delimiter, dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Milliseconds a child has after its input was closed, after SIGTERM, and its group after SIGKILL. */
const AFTER_EOF_MS = 500;
const AFTER_TERM_MS = 2_000;
const AFTER_KILL_MS = 1_000;

/** Programs that come with this project, so that the sample connections need no network. */
const OWN_PROGRAMS = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url));

/** Groups still running, ended with this process whatever way it goes. */
const living = new Set<number>();
process.on("exit", () => {
  for (const pid of living) signalGroup(pid, "SIGKILL");
});

/**
 * The environment of a child: where programs and temporary files are, the language, and what the connection's file
 * says. Nothing else of ours, since that holds the keys of the house.
 */
export function childEnvironment(own: Readonly<Record<string, string>>): Record<string, string> {
  const path = [OWN_PROGRAMS, dirname(process.execPath), process.env["PATH"]].filter((part) => part);
  const kept: Record<string, string> = { PATH: path.join(delimiter) };
  for (const name of ["HOME", "LANG", "TMPDIR"]) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return { ...kept, ...own };
}

/** Starts a program without a shell. Rejects with the error of `spawn` (ENOENT, EACCES). */
export async function startProgram(program: Program): Promise<Child> {
  const child = spawn(program.command, [...program.args], {
    cwd: program.cwd,
    env: childEnvironment(program.env),
    stdio: ["pipe", "pipe", "pipe"],
    shell: false,
    detached: true,
    windowsHide: true,
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  if (child.pid !== undefined) living.add(child.pid);
  return child;
}

/** Ends a child and its whole group: end of input, SIGTERM, SIGKILL. Resolves when they are gone. */
export async function endProgram(child: Child): Promise<void> {
  child.stdin.on("error", () => child.stdin.destroy());
  child.stdin.end();
  if (!(await gone(child, AFTER_EOF_MS))) {
    signal(child, "SIGTERM");
    if (!(await gone(child, AFTER_TERM_MS))) signal(child, "SIGKILL");
    await gone(child, AFTER_KILL_MS);
  }
  await endLeftovers(child);
}

/** Ends what a child left behind in its group. */
export async function endLeftovers(child: Child): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  if (signalGroup(pid, "SIGTERM") && !(await groupGone(pid, AFTER_TERM_MS))) {
    signalGroup(pid, "SIGKILL");
    await groupGone(pid, AFTER_KILL_MS);
  }
  living.delete(pid);
}

function signal(child: Child, name: NodeJS.Signals): void {
  if (child.pid !== undefined) signalGroup(child.pid, name);
}

/** False where no such group exists. */
function signalGroup(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, name);
    return true;
  } catch {
    // ESRCH: everybody has left. EPERM cannot be: they are our descendants.
    return false;
  }
}

function gone(child: Child, ms: number): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      child.off("exit", left);
      resolve(false);
    }, ms);
    const left = () => {
      clearTimeout(timer);
      resolve(true);
    };
    child.once("exit", left);
  });
}

/** There is no event for the end of a group one is no parent of; it is asked for. */
async function groupGone(pid: number, ms: number): Promise<boolean> {
  const end = Date.now() + ms;
  while (signalGroup(pid, 0)) {
    if (Date.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}
