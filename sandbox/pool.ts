/**
 * The pool of workers. A process serves one organization for its whole life and has calls of one connection in flight
 * at a time; who waits is served fairly by organization. A call is sent to one process once and never again.
 */
import { performance } from "node:perf_hooks";
import {
  type Bundle,
  type CallBase,
  type Json,
  type OptionsCall,
  type PieceDescription,
  type PoolOptions,
  type PoolStats,
  type RunCall,
  type RunResult,
  SandboxError,
  type SandboxLimits,
  type SandboxPool,
  type ValidateCall,
  type Validation,
} from "./contract.ts";
import { isObject, readDescription, textsOf } from "./description.ts";
import { resolveLimits } from "./limits.ts";
import { Prepared } from "./prepared.ts";
import type { Finished, Job, WorkerProcess } from "./process.ts";
import type { Call, CallKind } from "./protocol.ts";
import { CallRequests } from "./requests.ts";
import { canWatchMemory } from "./watchdog.ts";

/** A call that has no process yet. */
interface Waiting {
  readonly organization: string;
  readonly connection: string;
  readonly isolate: string;
  /** By `performance.now()`. */
  readonly until: number;
  begin(process: WorkerProcess): void;
  fail(error: SandboxError): void;
}

/** Opens the pool. Nothing is built or started before the first call. */
export function createPool(options: PoolOptions): SandboxPool {
  return new Pool(options);
}

class Pool implements SandboxPool {
  readonly #options: PoolOptions;
  readonly #limits: SandboxLimits;
  readonly #clock: () => number;
  readonly #processes = new Set<WorkerProcess>();
  /** Throw-away processes of `describe`, beside the pool's own. */
  readonly #apart = new Set<WorkerProcess>();
  /** Calls on their way to a process count as in flight from the moment they have it. */
  readonly #reserved = new Map<WorkerProcess, { connection: string; count: number }>();
  readonly #watchesMemory = canWatchMemory();
  readonly #reaper: NodeJS.Timeout;
  #waiting: Waiting[] = [];
  #prepared: Promise<Prepared> | undefined;
  #ready: Prepared | undefined;
  #closed = false;
  #killed = 0;
  #calls = 0;
  #failedStarts = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#limits = resolveLimits(options.limits);
    this.#clock = options.clock ?? Date.now;
    if (!this.#watchesMemory) {
      options.log.warn({}, "this platform does not tell how much memory workers of the sandbox use");
    }
    this.#reaper = setInterval(() => this.#reap(), Math.min(this.#limits.idleWorkerMs, 10_000));
    this.#reaper.unref();
  }

  async run(call: RunCall): Promise<RunResult> {
    const { action, props, auth } = call;
    return this.#call("run", call, { action, props, auth });
  }

  async options(call: OptionsCall): Promise<Json> {
    const { action, prop, values, search, auth } = call;
    return (await this.#call("options", call, { action, prop, values, search, auth })).result;
  }

  async validate(call: ValidateCall): Promise<Validation> {
    const { result } = await this.#call("validate", call, { auth: call.auth, authIndex: call.authIndex });
    const answer = isObject(result) ? result : {};
    if (answer["supported"] !== true) return { supported: false };
    const error = answer["error"];
    return { supported: true, valid: answer["valid"] === true, ...(typeof error === "string" && { error }) };
  }

  async describe(bundle: Bundle): Promise<PieceDescription> {
    const prepared = await this.#prepare();
    const code = await prepared.cachedCodeOf(bundle);
    const process = prepared.start({ idle: () => undefined, ended: (ended) => this.#apart.delete(ended) });
    this.#apart.add(process);
    try {
      await process.ready;
      const wallMs = this.#limits.loadMs + this.#limits.callMs;
      const { result } = await this.#send(process, "describe", (job) => process.run(job, "describe"), {
        ...{ type: "call", kind: "describe", isolate: "describe", code, input: "{}", files: [], secrets: [], wallMs },
      });
      return readDescription(result, bundle);
    } finally {
      await process.kill("sandbox_closed", "described");
    }
  }

  stats(): PoolStats {
    const processes = [...this.#processes];
    const inFlight = processes.map((process) => process.inFlight);
    return {
      workers: processes.length,
      busyWorkers: inFlight.filter((count) => count > 0).length,
      isolates: processes.reduce((sum, process) => sum + process.isolates.length, 0),
      callsInFlight: inFlight.reduce((sum, count) => sum + count, 0),
      callsWaiting: this.#waiting.length,
      killed: this.#killed,
      networkNamespace: this.#ready?.hasNamespace ?? false,
      memoryWatch: this.#watchesMemory,
      processes: processes.map((process) => process.pid),
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#reaper);
    for (const waiting of this.#waiting.splice(0)) waiting.fail(closed());
    // A build under way starts processes of its own and ends them; nothing starts after it.
    await this.#prepared?.catch(() => undefined);
    const all = [...this.#processes, ...this.#apart];
    await Promise.all(all.map((process) => process.kill("sandbox_closed", "The sandbox is closed.")));
  }

  async #prepare(): Promise<Prepared> {
    if (this.#closed) throw closed();
    this.#prepared ??= Prepared.make(this.#options, this.#limits, this.#options.log);
    try {
      this.#ready = await this.#prepared;
    } catch (error) {
      this.#prepared = undefined;
      this.#options.log.error({ error }, "the sandbox cannot start");
      if (error instanceof SandboxError) throw error;
      throw new SandboxError("sandbox_unavailable", "The sandbox cannot start on this machine.", { processed: "no" });
    }
    if (this.#closed) throw closed();
    return this.#ready;
  }

  async #call(kind: CallKind, call: CallBase & Partial<RunCall>, input: object): Promise<Finished> {
    // The call's own time starts when it runs; it may wait as long for a process.
    const until =
      performance.now() + this.#timeOf(call, kind) + (call.deadline === undefined ? this.#limits.loadMs : 0);
    const prepared = await this.#prepare();
    const code = await prepared.codeOf(call.bundle);
    const { connection, credentialRevision } = call.key;
    const isolate = JSON.stringify([call.bundle.hash, call.bundle.piece, connection, credentialRevision]);
    const files = (call.files ?? []).map(({ name, extension, data }) => ({
      name,
      extension: extension ?? /\.([^.]+)$/.exec(name)?.[1] ?? "",
      data,
    }));
    if (files.reduce((sum, { data }) => sum + data.byteLength, 0) > this.#limits.fileBytes) {
      throw new SandboxError("result_too_large", `The files of a call may have ${this.#limits.fileBytes} bytes.`, {
        processed: "no",
      });
    }
    const secrets = call.secrets ?? textsOf(call.auth);
    const message = { type: "call", kind, isolate, code, input: JSON.stringify(input), files, secrets } as const;
    const process = await this.#place({ organization: call.organization, connection, isolate, until }, call.signal);
    try {
      const wallMs = Math.max(1, Math.round(this.#timeOf(call, kind)));
      return await this.#send(process, kind, (job) => process.run(job, connection), { ...message, wallMs }, call);
    } finally {
      if (this.#limits.processPerCall) process.retired = true;
      this.#settle(process);
    }
  }

  /** Milliseconds that a call has from now on. */
  #timeOf({ deadline }: CallBase, kind: CallKind): number {
    const most = kind === "run" ? this.#limits.callMs : this.#limits.optionsMs;
    const left = deadline === undefined ? most : Math.min(most, deadline - this.#clock());
    if (left <= 0) throw late();
    return left;
  }

  #send(
    process: WorkerProcess,
    kind: CallKind,
    begin: (job: Job) => void,
    message: Omit<Call, "id" | "kind">,
    { signal, log }: Pick<CallBase, "signal" | "log"> = {},
  ): Promise<Finished> {
    const id = ++this.#calls;
    const requests = new CallRequests(this.#options.fetch, this.#limits);
    const quiet = this.#options.log;
    const { promise, resolve, reject } = Promise.withResolvers<Finished>();
    const debug = quiet.debug.bind(quiet);
    const lines = log ?? { debug, info: debug, warn: debug, error: debug };
    const stop = (): void => {
      process.cancel(id);
      reject(
        new SandboxError("cancelled", "The call was cancelled.", { processed: requests.sent > 0 ? "unknown" : "no" }),
      );
    };
    if (signal?.aborted) return Promise.reject(cancelled());
    signal?.addEventListener("abort", stop, { once: true });
    begin({ call: { ...message, id, kind }, requests, log: lines, resolve, reject });
    return promise.finally(() => signal?.removeEventListener("abort", stop));
  }

  /** A process for the call, at once or when one is free. */
  async #place(wanted: Omit<Waiting, "begin" | "fail">, signal: AbortSignal | undefined): Promise<WorkerProcess> {
    if (signal?.aborted) throw cancelled();
    if (this.#waiting.length > 0 && this.#waiting.length >= this.#limits.queue) {
      throw new SandboxError("sandbox_busy", "Too many calls wait for the sandbox; try again later.", {
        processed: "no",
      });
    }
    const { promise, resolve, reject } = Promise.withResolvers<WorkerProcess>();
    const waiting: Waiting = { ...wanted, begin: resolve, fail: reject };
    const give = (error: SandboxError) => (): void => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      reject(error);
    };
    const expired = setTimeout(give(late()), Math.max(1, wanted.until - performance.now()));
    const abandoned = give(cancelled());
    signal?.addEventListener("abort", abandoned, { once: true });
    this.#waiting.push(waiting);
    this.#assign();
    try {
      const process = await promise;
      await process.ready.catch(() => {
        throw new SandboxError("sandbox_unavailable", "No process of the sandbox could be started.", {
          processed: "no",
        });
      });
      this.#failedStarts = 0;
      return process;
    } finally {
      clearTimeout(expired);
      signal?.removeEventListener("abort", abandoned);
    }
  }

  #loadOf(process: WorkerProcess): number {
    return Math.max(process.inFlight, this.#reserved.get(process)?.count ?? 0);
  }

  /** Gives processes to those who wait: first whose organization has fewest calls in flight, then who came first. */
  #assign(): void {
    if (this.#closed) return;
    for (;;) {
      const load = new Map<string, number>();
      for (const process of this.#processes) {
        const { organization } = process;
        if (organization !== undefined) load.set(organization, (load.get(organization) ?? 0) + this.#loadOf(process));
      }
      const order = this.#waiting.toSorted(
        (one, other) => (load.get(one.organization) ?? 0) - (load.get(other.organization) ?? 0),
      );
      const found = this.#first(order);
      if (found === undefined) break;
      const { waiting, process } = found;
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      process.organization = waiting.organization;
      const count = (this.#reserved.get(process)?.count ?? 0) + 1;
      this.#reserved.set(process, { connection: waiting.connection, count });
      waiting.begin(process);
    }
    this.#spare();
  }

  /** The first who can have a process. One after the other: finding one may end and start processes. */
  #first(order: readonly Waiting[]): { waiting: Waiting; process: WorkerProcess } | undefined {
    for (const waiting of order) {
      const process = this.#find(waiting);
      if (process !== undefined) return { waiting, process };
    }
    return undefined;
  }

  #find({ organization, connection, isolate }: Waiting): WorkerProcess | undefined {
    const { callsPerWorker, processPerCall, workers } = this.#limits;
    const usable = [...this.#processes].filter((process) => !process.retired);
    const own = usable.filter((process) => {
      if (process.organization !== organization || processPerCall) return false;
      const load = this.#loadOf(process);
      const current = this.#reserved.get(process)?.connection ?? process.connection;
      return load === 0 || (load < callsPerWorker && current === connection);
    });
    const best = own.find((process) => process.isolates.includes(isolate)) ?? own[0];
    if (best !== undefined) return best;
    const spare = usable.find((process) => process.organization === undefined);
    if (spare !== undefined) return spare;
    if (this.#processes.size >= workers && !this.#evict()) return undefined;
    return this.#start();
  }

  /** Ends the process that has been idle for longest. Its successor does not wait until it is gone. */
  #evict(): boolean {
    const idle = [...this.#processes]
      .filter((process) => this.#loadOf(process) === 0)
      .sort((one, other) => one.lastUsed - other.lastUsed)[0];
    if (idle === undefined) return false;
    this.#drop(idle);
    return true;
  }

  #start(): WorkerProcess | undefined {
    const process = this.#ready?.start({
      // A cancelled call has been told already, and leaves its process only now.
      idle: (idle) => this.#clear(idle),
      ended: (ended, watched) => {
        if (watched) this.#killed += 1;
        const known = this.#processes.delete(ended);
        this.#reserved.delete(ended);
        if (known && ended.served === 0) this.#failedStarts += 1;
        this.#assign();
      },
    });
    if (process !== undefined) this.#processes.add(process);
    return process;
  }

  /** Keeps a process started for whoever comes next, once there was a call at all. */
  #spare(): void {
    const { spareWorkers, workers } = this.#limits;
    // What cannot start is not tried again and again without a call that needs it.
    if (this.#closed || this.#failedStarts > 0 || this.#ready === undefined) return;
    const spare = [...this.#processes].filter((process) => process.organization === undefined && !process.retired);
    for (let count = spare.length; count < spareWorkers && this.#processes.size < workers; count++) this.#start();
  }

  /** A call has left its process. */
  #settle(process: WorkerProcess): void {
    const reserved = this.#reserved.get(process);
    if (reserved !== undefined && reserved.count > 1)
      this.#reserved.set(process, { ...reserved, count: reserved.count - 1 });
    else this.#reserved.delete(process);
    this.#clear(process);
  }

  /** Replaces a process that is to take no further call, once it has none, and gives the others away. */
  #clear(process: WorkerProcess): void {
    if (process.served >= this.#limits.recycleAfterCalls) process.retired = true;
    if (process.retired && this.#loadOf(process) === 0) this.#drop(process);
    this.#assign();
  }

  #drop(process: WorkerProcess): void {
    this.#processes.delete(process);
    void process.kill("worker_died", "The process was replaced.");
  }

  #reap(): void {
    const now = performance.now();
    for (const process of this.#processes) {
      if (this.#loadOf(process) === 0 && now - process.lastUsed > this.#limits.idleWorkerMs) this.#drop(process);
    }
  }
}

function closed(): SandboxError {
  return new SandboxError("sandbox_closed", "The sandbox is closed.", { processed: "no" });
}

function cancelled(): SandboxError {
  return new SandboxError("cancelled", "The call was cancelled.", { processed: "no" });
}

function late(): SandboxError {
  return new SandboxError("sandbox_busy", "No process of the sandbox was free in time; try again later.", {
    processed: "no",
  });
}
