/**
 * Fetches a package with its dependencies. npm runs as a process of its own, in a folder of its own, without scripts
 * and with an environment in which nothing of ours stands; only commands and the installing job come here.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { JackfieldError } from "../errors.ts";
import { isIntegrity, type PieceVersion, specOf } from "./names.ts";

/** Milliseconds that npm gets. */
const NPM_MS = 5 * 60_000;
/** Characters of npm's output that are kept. */
const MAX_OUTPUT = 64 * 1024;

/** No script of a package runs; pieces name peers that they do not need. */
const QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--omit=dev", "--loglevel=error"];

/** What npm needs of our environment to reach its registry; no secret of ours has such a name. */
const PASSED =
  /^(?:PATH|HOME|TMPDIR|LANG|LC_ALL|npm_config_.*|NPM_CONFIG_.*|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR)$/;

export interface Fetched {
  /** Of the package's tarball, as the registry has it and npm has checked it. */
  integrity: string;
  /** What npm locked. */
  lock: string;
}

export interface NpmOptions {
  env: Readonly<Record<string, string | undefined>>;
  signal?: AbortSignal;
}

/**
 * Installs a version into a folder.
 * @param lock what npm locked at an earlier installation; then exactly that is installed
 * @throws JackfieldError `piece_refused` with npm's own words
 */
export async function fetchPackage(
  directory: string,
  piece: PieceVersion,
  { lock, ...options }: NpmOptions & { lock?: string | undefined },
): Promise<Fetched> {
  const manifest = { name: "installed-piece", private: true, dependencies: { [piece.name]: piece.version } };
  writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
  const lockPath = join(directory, "package-lock.json");
  if (lock !== undefined) writeFileSync(lockPath, lock);
  await npm(directory, [lock === undefined ? "install" : "ci", ...QUIET], options);
  if (!existsSync(lockPath)) throw refused(`npm installed ${specOf(piece)} without locking it`);
  const made = readFileSync(lockPath, "utf8");
  const integrity = integrityOf(made, piece);
  if (integrity === undefined) throw refused(`the registry gives no integrity for ${specOf(piece)}`);
  return { integrity, lock: made };
}

function integrityOf(lock: string, { name, version }: PieceVersion): string | undefined {
  const read: { packages?: Record<string, { version?: unknown; integrity?: unknown }> } = JSON.parse(lock);
  const found = read.packages?.[`node_modules/${name}`];
  const integrity = found?.version === version ? found.integrity : undefined;
  return typeof integrity === "string" && isIntegrity(integrity) ? integrity : undefined;
}

/** Installs several packages into one folder, as `name@version` or a tag. @throws JackfieldError `piece_refused` */
export async function npmInstall(directory: string, specs: readonly string[], options: NpmOptions): Promise<void> {
  await npm(directory, ["install", ...QUIET, ...specs], options);
}

/**
 * When a version was published, in milliseconds since the epoch; undefined where the registry does not say.
 * @throws JackfieldError `piece_refused` where npm fails
 */
export async function publishedAt(
  directory: string,
  { name, version }: PieceVersion,
  options: NpmOptions,
): Promise<number | undefined> {
  const output = await npm(directory, ["view", name, "time", "--json", "--loglevel=error"], options);
  try {
    const times: Record<string, unknown> = JSON.parse(output || "{}");
    const time = Date.parse(String(times[version]));
    return Number.isNaN(time) ? undefined : time;
  } catch {
    // A registry that answers otherwise does not say.
    return undefined;
  }
}

/** The environment npm gets. */
export function npmEnvironment(env: NpmOptions["env"]): Record<string, string> {
  const kept = Object.entries(env).filter((entry): entry is [string, string] => {
    // npm hands its own script variables down to what it starts; those say nothing about a registry.
    return (
      entry[1] !== undefined &&
      PASSED.test(entry[0]) &&
      !/^npm_config_(?:prefix|local_prefix|global_prefix)$/i.test(entry[0])
    );
  });
  return { ...Object.fromEntries(kept), npm_config_update_notifier: "false" };
}

function npm(cwd: string, args: readonly string[], { env, signal }: NpmOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("npm", args, {
      cwd,
      env: npmEnvironment(env),
      stdio: ["ignore", "pipe", "pipe"],
      timeout: NPM_MS,
      killSignal: "SIGKILL",
      ...(signal === undefined ? {} : { signal }),
    });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(0, 16 * MAX_OUTPUT);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors = (errors + text).slice(0, MAX_OUTPUT);
    });
    child.once("error", (cause: NodeJS.ErrnoException) => {
      const text = cause.code === "ENOENT" ? "npm is not installed on this machine" : cause.message;
      reject(refused(text, cause));
    });
    child.once("close", (code, killed) => {
      if (code === 0) resolve(output);
      else reject(refused(killed === null ? npmWords(errors) : `npm did not finish within ${NPM_MS / 60_000} minutes`));
    });
  });
}

/** The line of npm that says why. */
function npmWords(errors: string): string {
  const lines = errors.split("\n").map((line) => line.replace(/^npm (?:error|ERR!) ?/, "").trim());
  const telling = lines.filter((line) => line !== "" && !line.startsWith("A complete log") && !/^code /.test(line));
  return `npm could not fetch it: ${telling.slice(0, 2).join(" ").slice(0, 400) || "no reason given"}`;
}

function refused(text: string, cause?: unknown): JackfieldError {
  return new JackfieldError("piece_refused", { text, ...(cause === undefined ? {} : { cause }) });
}
