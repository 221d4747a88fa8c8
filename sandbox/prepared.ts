/** All that is needed to start workers, made once per pool: worker and runtime, the snapshot, code caches of bundles. */
import { chmod, mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { type Build, buildRuntime, exists, writePrivately } from "./build.ts";
import { type Bundle, SandboxError, type SandboxLimits, type SandboxLog } from "./contract.ts";
import { findNamespace, findNative, type Launch, startWorker } from "./launch.ts";
import { type ProcessEvents, WorkerProcess } from "./process.ts";
import type { Code, Start } from "./protocol.ts";

export interface Places {
  readonly cacheDirectory: string;
  readonly bundleDirectory: string;
}

const NOBODY: ProcessEvents = { idle: () => undefined, ended: () => undefined };

export class Prepared {
  readonly #build: Build;
  readonly #launch: Launch;
  readonly #bundles: string;
  readonly #limits: SandboxLimits;
  readonly #log: SandboxLog;
  /** Bundles whose code cache is there, or is being made. */
  readonly #cached = new Map<string, Promise<void>>();
  /** What is known of bundles with a code cache: a call looks at no file again. */
  readonly #complete = new Map<string, Code>();
  #snapshot = false;

  private constructor(build: Build, launch: Launch, bundles: string, limits: SandboxLimits, log: SandboxLog) {
    this.#build = build;
    this.#launch = launch;
    this.#bundles = bundles;
    this.#limits = limits;
    this.#log = log;
  }

  /** Builds what is not there yet. @throws SandboxError where no worker can be started on this machine */
  static async make(
    { cacheDirectory, bundleDirectory }: Places,
    limits: SandboxLimits,
    log: SandboxLog,
  ): Promise<Prepared> {
    const native = findNative();
    await mkdir(cacheDirectory, { recursive: true, mode: 0o700 });
    await mkdir(bundleDirectory, { recursive: true, mode: 0o700 });
    const [cache, bundles] = await Promise.all([realpath(cacheDirectory), realpath(bundleDirectory)]);
    const workingDirectory = join(cache, "empty");
    await mkdir(workingDirectory, { recursive: true });
    await chmod(workingDirectory, 0o500);
    const [build, namespace] = await Promise.all([buildRuntime(cache), findNamespace()]);
    if (namespace === undefined) {
      log.warn(
        {},
        "this platform gives workers of the sandbox no empty network namespace; isolates have no network anyway",
      );
    }
    const readable = [build.directory, bundles];
    const launch = { worker: build.worker, readable, workingDirectory, native, namespace };
    const prepared = new Prepared(build, launch, bundles, limits, log);
    await prepared.#makeSnapshot();
    return prepared;
  }

  get hasNamespace(): boolean {
    return this.#launch.namespace !== undefined;
  }

  /** Starts a process. */
  start(events: ProcessEvents): WorkerProcess {
    const { limits } = this;
    const start: Start = {
      type: "start",
      runtime: this.#build.runtime,
      ...(this.#snapshot && { snapshot: this.#build.snapshot }),
      limits,
    };
    const { graceMs, loadMs, workerMemoryMb: memoryMb } = this.#limits;
    const watched = { graceMs, loadMs, memoryMb };
    return new WorkerProcess(startWorker(this.#launch), start, watched, events, this.#log);
  }

  /** What a worker holds itself. */
  get limits(): Start["limits"] {
    const { idleIsolateMs, syncMs, loadMs, resultBytes, descriptionBytes, fileBytes } = this.#limits;
    const { isolatesPerWorker, requestBodyBytes, requestsPerCall, logBytes, timers } = this.#limits;
    const sizes = { resultBytes, descriptionBytes, fileBytes, requestBodyBytes, logBytes };
    return { isolates: isolatesPerWorker, idleIsolateMs, syncMs, loadMs, requestsPerCall, timers, ...sizes };
  }

  /** Where a bundle's code is; starts making its code cache where there is none. @throws SandboxError */
  async codeOf(bundle: Bundle): Promise<Code> {
    const known = this.#complete.get(bundle.hash);
    if (known !== undefined) return { ...known, piece: bundle.piece, memoryMb: this.#memoryOf(bundle) };
    const code = await this.#bare(bundle);
    const file = this.#build.codeCache(bundle.hash);
    if (await exists(file)) {
      const complete = { ...code, codeCache: file };
      this.#complete.set(bundle.hash, complete);
      return complete;
    }
    void this.#cache(bundle.hash, code);
    return code;
  }

  /** As `codeOf`, after the code cache was made. */
  async cachedCodeOf(bundle: Bundle): Promise<Code> {
    const code = await this.#bare(bundle);
    const file = this.#build.codeCache(bundle.hash);
    if (!(await exists(file))) await this.#cache(bundle.hash, code);
    return (await exists(file)) ? { ...code, codeCache: file } : code;
  }

  #memoryOf({ memoryMb }: Bundle): number {
    return memoryMb ?? this.#limits.isolateMemoryMb;
  }

  async #bare(bundle: Bundle): Promise<Code> {
    const { piece, hash } = bundle;
    const directory = join(this.#bundles, hash);
    if (!/^[0-9a-f]{64}$/.test(hash) || !(await exists(join(directory, "bundle.js")))) {
      throw new SandboxError("piece_unloadable", `The piece ${piece} is not installed.`, { processed: "no" });
    }
    return { piece, directory, memoryMb: this.#memoryOf(bundle) };
  }

  #cache(hash: string, code: Code): Promise<void> {
    const made =
      this.#cached.get(hash) ??
      this.#alone(this.#build.codeCache(hash), { type: "compile", code }).catch((error: unknown) => {
        this.#log.warn({ piece: code.piece, reason: String(error) }, "no code cache could be made");
      });
    this.#cached.set(hash, made);
    return made;
  }

  async #makeSnapshot(): Promise<void> {
    if (!(await exists(this.#build.snapshot))) {
      await this.#alone(this.#build.snapshot, { type: "snapshot" });
    }
    this.#snapshot = await exists(this.#build.snapshot);
    if (!this.#snapshot) this.#log.warn({}, "the sandbox runs without a snapshot of its runtime: isolates open slowly");
  }

  /**
   * Builds in a process of its own that never ran a piece, so that what all isolates will load was made by our code
   * alone.
   */
  async #alone(file: string, message: { type: "snapshot" } | { type: "compile"; code: Code }): Promise<void> {
    const process = this.start(NOBODY);
    const late = setTimeout(
      () => void process.kill("worker_timeout", "building took too long"),
      this.#limits.loadMs * 3,
    );
    try {
      const { data, reason } = await process.build(message);
      if (data.byteLength > 0) await writePrivately(file, data);
      else this.#log.warn({ what: message.type, reason }, "a cache of the sandbox could not be made");
    } finally {
      clearTimeout(late);
      await process.kill("sandbox_closed", "built");
    }
  }
}
