/**
 * The pieces that are installed, in the data directory:
 *
 *     pieces/lock.json                 which version is which bundle, and the integrity it was pinned to
 *     pieces/npm/<name>@<version>.json the dependencies of a version, as npm locked them
 *     pieces/bundles/<hash>/           bundle.js, its *.wasm, describe.json; never changed once it is there
 *
 * Every file appears by a rename, so that a reader sees the one before or the one after. A bundle that was replaced is
 * kept until it is replaced once more.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type PieceDescription, readDescription } from "../../adapters/pieces/description.ts";
import { JackfieldError } from "../errors.ts";
import { isIntegrity, type PieceVersion, readSpec, specOf } from "./names.ts";

const hash = z.string().regex(/^[0-9a-f]{64}$/);

const entry = z.strictObject({
  /** Of the package's tarball. */
  integrity: z.string().refine(isIntegrity),
  bundle: hash,
  /** The bundle that this one replaced. */
  previous: hash.optional(),
  installedAt: z.iso.datetime(),
});

const lockFile = z.strictObject({
  version: z.literal(1),
  pieces: z.record(
    z.string().refine((spec) => readSpec(spec) !== undefined),
    entry,
  ),
});

export type Installed = z.output<typeof entry>;

export interface PieceStore {
  /** By `name@version`, as it is on disk now. @throws JackfieldError `start_failed` where the file is damaged */
  read(): ReadonlyMap<string, Installed>;
  /** Records an installation; what it replaces becomes the previous bundle. */
  put(piece: PieceVersion, installed: Omit<Installed, "previous">): void;
  /** Takes a version away; its bundles go where nothing else uses them. False where there was none. */
  remove(piece: PieceVersion): boolean;
  /** Folder of the bundles. */
  readonly bundles: string;
  /** What a bundle told about itself when it was installed; undefined where it is not there. */
  describe(bundle: string): PieceDescription | undefined;
  /** A folder of its own for one installation. */
  workspace(): string;
  /** What npm locked for a version: undefined where nothing is kept. */
  dependencies(piece: PieceVersion): string | undefined;
  keepDependencies(piece: PieceVersion, lock: string): void;
  /** Deletes bundles that no version uses, now or as its previous one. */
  sweep(): void;
}

/** @param dataDir of the process; `pieces` is made in it, for its owner only */
export function openPieceStore(dataDir: string): PieceStore {
  const root = join(dataDir, "pieces");
  const bundles = join(root, "bundles");
  const lockPath = join(root, "lock.json");
  const npm = join(root, "npm");
  const ready = () => {
    for (const directory of [root, bundles, npm]) mkdirSync(directory, { recursive: true, mode: 0o700 });
  };

  const read = (): Map<string, Installed> => {
    if (!existsSync(lockPath)) return new Map();
    try {
      return new Map(Object.entries(lockFile.parse(JSON.parse(readFileSync(lockPath, "utf8"))).pieces));
    } catch (cause) {
      const text = `${lockPath} is not as it was written. Restore it, or delete it and install the pieces again.`;
      throw new JackfieldError("start_failed", { text, cause });
    }
  };
  const write = (pieces: ReadonlyMap<string, Installed>): void => {
    ready();
    const sorted = Object.fromEntries([...pieces].sort(([a], [b]) => (a < b ? -1 : 1)));
    replaceFile(lockPath, `${JSON.stringify({ version: 1, pieces: sorted }, undefined, 2)}\n`);
  };
  const dependencyPath = (piece: PieceVersion) => join(npm, `${specOf(piece).replace("/", "+")}.json`);

  const sweep = (): void => {
    if (!existsSync(bundles)) return;
    const used = new Set([...read().values()].flatMap(({ bundle, previous }) => [bundle, previous]));
    for (const name of readdirSync(bundles)) {
      if (hash.safeParse(name).success && !used.has(name))
        rmSync(join(bundles, name), { recursive: true, force: true });
    }
  };

  return {
    read,
    put(piece, installed) {
      const pieces = read();
      const before = pieces.get(specOf(piece));
      const previous = before === undefined || before.bundle === installed.bundle ? before?.previous : before.bundle;
      pieces.set(specOf(piece), { ...installed, ...(previous === undefined ? {} : { previous }) });
      write(pieces);
    },
    remove(piece) {
      const pieces = read();
      if (!pieces.delete(specOf(piece))) return false;
      write(pieces);
      rmSync(dependencyPath(piece), { force: true });
      sweep();
      return true;
    },
    bundles,
    describe(bundle) {
      const path = join(bundles, bundle, "describe.json");
      if (!hash.safeParse(bundle).success || !existsSync(path)) return undefined;
      const raw: unknown = JSON.parse(readFileSync(path, "utf8"));
      return readDescription(raw);
    },
    workspace() {
      ready();
      const directory = join(root, `installing-${randomBytes(8).toString("hex")}`);
      mkdirSync(directory, { mode: 0o700 });
      return directory;
    },
    dependencies(piece) {
      const path = dependencyPath(piece);
      return existsSync(path) ? readFileSync(path, "utf8") : undefined;
    },
    keepDependencies(piece, lock) {
      ready();
      replaceFile(dependencyPath(piece), lock);
    },
    sweep,
  };
}

/** Writes a file that appears whole or not at all. */
export function replaceFile(path: string, content: string): void {
  const beside = `${path}.${randomBytes(6).toString("hex")}`;
  writeFileSync(beside, content, { mode: 0o600 });
  renameSync(beside, path);
}
