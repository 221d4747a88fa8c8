/**
 * Installs a piece: fetch, check what was fetched against what was pinned, bundle, load once in a throw-away process,
 * and only then make it the one that is used. Whatever goes wrong on the way leaves what was installed before.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type PieceDescription, readDescription } from "../../adapters/pieces/description.ts";
import { SandboxError, type SandboxPool } from "../../sandbox/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Locks } from "../shared-state/contract.ts";
import { type Bundled, bundlePiece } from "./bundle.ts";
import { fetchPackage, type NpmOptions, publishedAt } from "./fetch-package.ts";
import { type PieceVersion, specOf } from "./names.ts";
import { refusedBundle, refusedPiece } from "./refusals.ts";
import { type PieceStore, replaceFile } from "./store.ts";

/** Milliseconds after which another process may believe that an installation died. */
const LOCK_MS = 10 * 60_000;

export interface InstallParts extends NpmOptions {
  store: PieceStore;
  pool: Pick<SandboxPool, "describe">;
  /** One installation at a time, over all processes. */
  locks: Locks;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export interface Wanted extends PieceVersion {
  integrity?: string | undefined;
  /** Milliseconds that a version must have been out. */
  minimumAgeMs?: number;
  /** Installs again what is installed already. */
  again?: boolean;
}

export interface Outcome {
  /** False: it was there already. */
  installed: boolean;
  integrity: string;
  bundle: string;
  description: PieceDescription;
}

/** @throws JackfieldError `piece_refused` with the reason; nothing is changed then */
export async function installPiece(parts: InstallParts, wanted: Wanted): Promise<Outcome> {
  const release = await parts.locks.acquire("pieces:install", { ttlMs: LOCK_MS, waitMs: LOCK_MS });
  if (release === undefined) throw refused(wanted, "another installation does not end");
  try {
    const known = alreadyThere(parts.store, wanted);
    return known ?? (await install(parts, wanted));
  } finally {
    await release();
  }
}

function alreadyThere(store: PieceStore, wanted: Wanted): Outcome | undefined {
  const entry = store.read().get(specOf(wanted));
  if (entry === undefined) return undefined;
  checkIntegrity(wanted, entry.integrity, "installed");
  const description = wanted.again === true ? undefined : store.describe(entry.bundle);
  return description && { installed: false, integrity: entry.integrity, bundle: entry.bundle, description };
}

async function install(parts: InstallParts, wanted: Wanted): Promise<Outcome> {
  const { store, clock } = parts;
  const directory = store.workspace();
  try {
    await checkAge(parts, directory, wanted);
    const pinned = store.read().get(specOf(wanted));
    const fetched = await fetchPackage(directory, wanted, { ...parts, lock: store.dependencies(wanted) });
    checkIntegrity(wanted, fetched.integrity, "that the registry has");
    if (pinned !== undefined && pinned.integrity !== fetched.integrity) {
      throw refused(wanted, `its integrity is ${fetched.integrity}, not ${pinned.integrity} as it was pinned`);
    }
    const bundled = await bundlePiece(directory, wanted, join(directory, "bundle"));
    const reason = refusedBundle(bundled);
    if (reason !== undefined) throw refused(wanted, reason);
    const description = await tryOut(parts, wanted, bundled, join(directory, "bundle"));
    store.keepDependencies(wanted, fetched.lock);
    store.put(wanted, {
      integrity: fetched.integrity,
      bundle: bundled.hash,
      installedAt: new Date(clock()).toISOString(),
    });
    return { installed: true, integrity: fetched.integrity, bundle: bundled.hash, description };
  } catch (error) {
    if (error instanceof JackfieldError && error.code === "piece_refused") throw named(wanted, error);
    throw error;
  } finally {
    rmSync(directory, { recursive: true, force: true });
    store.sweep();
  }
}

/** Puts the bundle under its hash, loads it there, and writes down what it told about itself. */
async function tryOut(
  { store, pool }: InstallParts,
  wanted: Wanted,
  bundled: Bundled,
  folder: string,
): Promise<PieceDescription> {
  mkdirSync(store.bundles, { recursive: true, mode: 0o700 });
  const place = join(store.bundles, bundled.hash);
  // Content-addressed: one that is there is the same.
  if (!existsSync(place)) renameSync(folder, place);
  let raw: unknown;
  try {
    raw = await pool.describe({ piece: specOf(wanted), hash: bundled.hash });
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw refused(wanted, `it does not load: ${error.message}`, error);
  }
  const description = readDescription(raw);
  const reason = refusedPiece(description, bundled.packages);
  if (reason !== undefined) throw refused(wanted, reason);
  replaceFile(join(place, "describe.json"), JSON.stringify(raw));
  return description;
}

function checkIntegrity({ integrity, ...piece }: Wanted, found: string, which: string): void {
  if (integrity === undefined || integrity === found) return;
  throw refused(piece, `the integrity ${which} is ${found}, not ${integrity}`);
}

async function checkAge(parts: InstallParts, directory: string, wanted: Wanted): Promise<void> {
  const { minimumAgeMs = 0 } = wanted;
  if (minimumAgeMs === 0) return;
  const published = await publishedAt(directory, wanted, parts);
  if (published === undefined) {
    throw refused(wanted, "the registry does not say when it was published, and minimumReleaseAge asks for that");
  }
  const age = parts.clock() - published;
  if (age >= minimumAgeMs) return;
  const hours = (milliseconds: number) => Math.ceil(milliseconds / 3_600_000);
  throw refused(wanted, `it was published ${hours(age)} hours ago; minimumReleaseAge is ${hours(minimumAgeMs)} hours`);
}

function refused(piece: PieceVersion, reason: string, cause?: unknown): JackfieldError {
  const text = `${specOf(piece)} is not installed: ${reason}.`;
  return new JackfieldError("piece_refused", { text, ...(cause === undefined ? {} : { cause }) });
}

/** What npm and the bundler said, with the name of the piece. */
function named(piece: PieceVersion, error: JackfieldError): JackfieldError {
  return error.message.startsWith(specOf(piece)) ? error : refused(piece, error.message, error.cause);
}
