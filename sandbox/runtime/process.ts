/** The global `process` and `node:process`: an empty environment, no way out, no events. */
import { writeLog } from "./bridge.ts";
import { performance } from "./performance.ts";
import { unavailable } from "./unavailable.ts";

const refusing = (name: string) => (): never => {
  throw unavailable(`process.${name}`);
};

const hrtime = (since?: readonly [number, number]): [number, number] => {
  const now = performance.now();
  const [seconds, nanoseconds] = [Math.floor(now / 1000), Math.floor((now % 1000) * 1e6)];
  if (since === undefined) return [seconds, nanoseconds];
  const difference = (seconds - since[0]) * 1e9 + nanoseconds - since[1];
  return [Math.floor(difference / 1e9), difference % 1e9];
};

const stream = (level: "info" | "error") => ({
  isTTY: false,
  writable: true,
  columns: 80,
  write(text: unknown): boolean {
    writeLog(level, String(text));
    return true;
  },
  on: () => undefined,
  once: () => undefined,
  end: () => undefined,
});

class Process {
  readonly env: Record<string, string> = {};
  readonly argv = ["node"];
  readonly execArgv: string[] = [];
  readonly execPath = "/node";
  readonly pid = 1;
  readonly ppid = 0;
  readonly platform = "linux";
  readonly arch = "x64";
  readonly title = "node";
  readonly version = "v24.0.0";
  readonly versions = { node: "24.0.0", v8: "13.6.0" };
  readonly release = { name: "node" };
  readonly config = { variables: {}, target_defaults: {} };
  readonly features = {};
  readonly allowedNodeEnvironmentFlags = new Set<string>();
  exitCode: number | undefined;
  readonly stdout = stream("info");
  readonly stderr = stream("error");
  readonly stdin = { isTTY: false, on: () => undefined, once: () => undefined };
  readonly hrtime = Object.assign(hrtime, { bigint: () => BigInt(Math.floor(performance.now() * 1e6)) });

  readonly nextTick = (callback: (...args: unknown[]) => unknown, ...args: unknown[]): void => {
    queueMicrotask(() => callback(...args));
  };
  readonly cwd = (): string => "/";
  readonly umask = (): number => 0o22;
  readonly uptime = (): number => performance.now() / 1000;
  readonly memoryUsage = () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 });
  readonly cpuUsage = () => ({ user: 0, system: 0 });
  readonly getuid = (): number => 0;
  readonly geteuid = (): number => 0;
  readonly emitWarning = (warning: unknown): void => writeLog("warn", String(warning));

  readonly exit = refusing("exit");
  readonly abort = refusing("abort");
  readonly kill = refusing("kill");
  readonly chdir = refusing("chdir");
  readonly binding = refusing("binding");
  readonly dlopen = refusing("dlopen");

  // Libraries subscribe to the end of the process; it ends without telling.
  readonly on = (): this => this;
  readonly once = (): this => this;
  readonly off = (): this => this;
  readonly addListener = (): this => this;
  readonly prependListener = (): this => this;
  readonly removeListener = (): this => this;
  readonly removeAllListeners = (): this => this;
  readonly setMaxListeners = (): this => this;
  readonly getMaxListeners = (): number => 10;
  readonly emit = (): boolean => false;
  readonly listeners = (): [] => [];
  readonly listenerCount = (): number => 0;

  get [Symbol.toStringTag](): string {
    return "process";
  }
}

export const process = new Process();
