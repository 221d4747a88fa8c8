/**
 * What the sandbox offers to who runs pieces: types and errors, no code that runs one.
 *
 * A piece is code of a stranger. It runs in an isolate, inside a worker process that has no environment, no secret
 * of ours and no way to the network but the `fetch` handed in here. `createPool` (`pool.ts`) makes the pool.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Where lines of the sandbox, and of the code inside, go. */
export interface SandboxLog {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** A piece that was bundled: the folder `<bundleDirectory>/<hash>` with `bundle.js` and, beside it, its `*.wasm`. */
export interface Bundle {
  /** `<package>@<version>`, for logs and errors. */
  readonly piece: string;
  /** Lower-case hexadecimal SHA-256 of the folder's content; its name. */
  readonly hash: string;
  /** Megabytes an isolate of this piece may use; absent: the limit `isolateMemoryMb`. */
  readonly memoryMb?: number;
}

/** Bytes that go in with a call. In the props, `{ "sandbox:file": <index> }` stands for one. */
export interface FileIn {
  readonly name: string;
  /** Without the dot; absent: what stands behind the name's last dot. */
  readonly extension?: string;
  readonly data: Uint8Array;
}

/** Bytes that the piece wrote. In the result, the string `sandbox:file:<index>` stands for one. */
export interface FileOut {
  readonly name: string;
  readonly data: Uint8Array;
}

/** What every call into a piece needs. */
export interface CallBase {
  readonly bundle: Bundle;
  /** An isolate serves one of these and never another. */
  readonly key: { readonly connection: string; readonly credentialRevision: string };
  /** A process serves one of these and never another. */
  readonly organization: string;
  /** The value for `context.auth`, already shaped for the piece's generation; undefined where it has none. */
  readonly auth?: Json;
  /**
   * Values to take out of results, errors and logs, those shorter than 6 characters excepted. Absent: every string
   * inside `auth`, which may take out a region or a user name too.
   */
  readonly secrets?: readonly string[];
  readonly signal?: AbortSignal;
  /** Milliseconds since the epoch, by the pool's clock; absent or later than `callMs` from now: `callMs` from now. */
  readonly deadline?: number;
  /** Gets what the piece prints; bounded. Absent: the pool's own log, at debug. */
  readonly log?: SandboxLog;
}

export interface RunCall extends CallBase {
  readonly action: string;
  /** Values of the action's props: checked, with defaults, coerced. */
  readonly props: JsonObject;
  readonly files?: readonly FileIn[];
}

export interface RunResult {
  /** What the action returned, as JSON carries it; undefined becomes null. Without the secrets. */
  readonly result: Json;
  readonly files: readonly FileOut[];
}

export interface OptionsCall extends CallBase {
  readonly action: string;
  /** A prop of the action with `options` (dropdowns) or `props` (dynamic). */
  readonly prop: string;
  /** Values of the props it depends on. The first generation finds its credential here. */
  readonly values: JsonObject;
  readonly search?: string;
}

export interface ValidateCall extends CallBase {
  /** Which entry of `PieceDescription.auth`; 0 unless given. `auth` is what its `validate` gets. */
  readonly authIndex?: number;
}

/** The answer of a piece's own check; `supported: false`: it has none. */
export type Validation =
  | { readonly supported: false }
  | { readonly supported: true; readonly valid: boolean; readonly error?: string };

/**
 * An entry of the piece (auth, action, trigger, prop) as JSON: every own value that is data, deep. Functions are left
 * out; where one stood, its name is listed in `functions` (`["options"]`, `["validate"]`).
 */
export type Described = JsonObject & { readonly functions?: string[] };

export interface PieceDescription {
  readonly displayName: string;
  readonly description?: string;
  /** `getContextInfo().version`: `1` or `2`; `0` where the piece has no such function. */
  readonly contextVersion: string;
  /** The piece's `auth`: none, one, or several to choose from. */
  readonly auth: readonly Described[];
  /**
   * By the name under which they run. `props` are inside, each as `Described`; `needs` says what the text of the
   * action's function uses that a tool has not (`runtime/piece/needs.ts`).
   */
  readonly actions: { readonly [name: string]: Described };
  /** Names only: nothing here can run one. */
  readonly triggers: readonly string[];
}

export type SandboxErrorCode =
  /** The isolate or its process used more memory than it may. */
  | "worker_oom"
  /** It did not end in time, or computed for too long without a pause. */
  | "worker_timeout"
  /** The process ended under the call. */
  | "worker_died"
  /** Its `signal` was aborted. */
  | "cancelled"
  /** Too many calls wait already. */
  | "sandbox_busy"
  /** The pool is closed. */
  | "sandbox_closed"
  /** No process can be started, or isolated-vm is not installed. */
  | "sandbox_unavailable"
  /** The bundle is not there, or its code fails while it loads. */
  | "piece_unloadable"
  /** The piece has no such action or prop. */
  | "no_such_action"
  /** Egress refused an address; wins over whatever the piece made of it. */
  | "blocked_address"
  /** It uses what only a flow has (`context.run.pause` ...), or what the sandbox lacks (sockets, files ...). */
  | "unsupported_in_tool"
  /** The result, or a file, is larger than it may be. */
  | "result_too_large"
  /** The piece threw; see `piece`. */
  | "piece_error";

/** What a piece threw, in its own words, without the secrets. */
export interface PieceError {
  readonly name: string;
  readonly code?: string;
  /** At most 600 characters. */
  readonly message: string;
  /** Status of the HTTP answer that the error carries. */
  readonly httpStatus?: number;
}

/** A request that egress refused. */
export interface Refusal {
  readonly code: string;
  readonly method: string;
  /** Origin only: a path or query may hold a secret. */
  readonly origin: string;
}

/** Why a call into a piece failed. `message` is fit for the caller: bounded and without secrets. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;
  /** `no` only where the call provably sent no request, so that a write's outcome stays honest. */
  readonly processed: "no" | "unknown";
  readonly piece: PieceError | undefined;
  readonly refusal: Refusal | undefined;

  constructor(
    code: SandboxErrorCode,
    message: string,
    options: { processed: "no" | "unknown"; piece?: PieceError; refusal?: Refusal },
  ) {
    super(message);
    this.code = code;
    this.processed = options.processed;
    this.piece = options.piece;
    this.refusal = options.refusal;
  }
}

/** For health pages and tests. */
export interface PoolStats {
  readonly workers: number;
  readonly busyWorkers: number;
  /** Isolates that are open in all workers, busy or waiting for a next call. */
  readonly isolates: number;
  readonly callsInFlight: number;
  readonly callsWaiting: number;
  /** Workers ended by the watchdog since the pool was made. */
  readonly killed: number;
  /** Whether workers live in an empty network namespace; false: the platform does not allow it. */
  readonly networkNamespace: boolean;
  /** Whether the watchdog can read how much memory a worker uses (Linux). */
  readonly memoryWatch: boolean;
  /** Identifiers of the worker processes. */
  readonly processes: readonly number[];
}

export interface SandboxPool {
  /**
   * Loads a bundle in a throw-away process and tells what is in it; also leaves its code cache. Rejects with
   * `piece_unloadable` and the reason where it does not load.
   */
  describe(bundle: Bundle): Promise<PieceDescription>;
  /** Runs an action. Never runs it twice. @throws SandboxError */
  run(call: RunCall): Promise<RunResult>;
  /** Asks a prop for its options, or a dynamic one for its props (as `Described`). @throws SandboxError */
  options(call: OptionsCall): Promise<Json>;
  /** Asks the piece whether a credential is good. @throws SandboxError */
  validate(call: ValidateCall): Promise<Validation>;
  stats(): PoolStats;
  /** Ends every process; calls in flight fail with `sandbox_closed`. */
  close(): Promise<void>;
}

export interface PoolOptions {
  /** Every limit that is not given has its default; see `limits.ts`. */
  readonly limits?: Partial<SandboxLimits>;
  /** The guarded way out (egress). Called with `redirect: "manual"`; an error with a `code` of `blocked_address` is a refusal. */
  readonly fetch: typeof globalThis.fetch;
  readonly log: SandboxLog;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Absolute path of the folder with one folder per bundle. */
  readonly bundleDirectory: string;
  /** Absolute path of a folder of the pool's own (runtime, snapshot, code caches); made 0700 where missing. */
  readonly cacheDirectory: string;
}

/** Times are milliseconds, sizes bytes unless the name says otherwise. */
export interface SandboxLimits {
  /** Processes at most. */
  readonly workers: number;
  /** Processes that wait started for a next organization. */
  readonly spareWorkers: number;
  /** One process per call, ended after it. */
  readonly processPerCall: boolean;
  /** Calls in flight in one process, all of one connection. */
  readonly callsPerWorker: number;
  /** Open isolates in one process. */
  readonly isolatesPerWorker: number;
  /** Calls after which a process is replaced. */
  readonly recycleAfterCalls: number;
  /** Calls that may wait for a process. */
  readonly queue: number;
  readonly idleIsolateMs: number;
  readonly idleWorkerMs: number;
  readonly isolateMemoryMb: number;
  /** Resident memory of a process past which it is killed. */
  readonly workerMemoryMb: number;
  /** Time code may compute without a pause. */
  readonly syncMs: number;
  /** Time of a call in its process, once the piece is loaded; as long again it may wait for one. */
  readonly callMs: number;
  /** Time for options and validations. */
  readonly optionsMs: number;
  /** Time to evaluate a bundle. */
  readonly loadMs: number;
  /** What a worker has beyond a deadline before it is killed. */
  readonly graceMs: number;
  /** JSON of a result. */
  readonly resultBytes: number;
  readonly descriptionBytes: number;
  /** All files of a call, each way. */
  readonly fileBytes: number;
  readonly requestBodyBytes: number;
  readonly responseBodyBytes: number;
  readonly requestsPerCall: number;
  readonly logBytes: number;
  readonly timers: number;
}
