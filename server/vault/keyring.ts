/** The master keys, and the keys that are derived from them for one purpose each. */
import { createHash, hkdfSync, randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Config, parseMasterKeys } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { prepareDataDir } from "../store/data-dir.ts";

export interface Keyring {
  /** Names the first master key without giving it away; stands in everything that is sealed with it. */
  readonly keyId: string;
  /** Names all master keys, the first one first. */
  readonly keyIds: readonly string[];
  /** 32 bytes for one purpose: HKDF-SHA-256 (RFC 5869) of the first master key with the label as `info`. */
  deriveKey(label: string): Buffer;
  /**
   * The same of the master key with this id; undefined where it is not here. Where the keys are in a file, that is
   * looked into once more before: another process may have put a new key there.
   */
  keyOf(keyId: string, label: string): Buffer | undefined;
  /** Looks into the file again; does nothing where the keys are in the environment. */
  reread(): void;
}

export type MasterKeys = readonly [Buffer, ...Buffer[]];

export const KEY_FILE = "master.key";

/** An unknown key id is looked for in the file at most this often. */
const REREAD_MS = 1000;

type KeyConfig = Pick<Config, "masterKey" | "masterKeyFile">;

/**
 * Opens the master keys: from the configuration, from its file, or from `master.key` in the data directory, which is
 * made on first use, readable by its owner only. Any number of processes may start at once.
 * Throws `start_failed` where they cannot be read or others could read them.
 */
export async function openKeyring({ config, dataDir }: { config: KeyConfig; dataDir: string }): Promise<Keyring> {
  if (config.masterKey !== undefined) return keyringOf(...checked(config.masterKey, "JACKFIELD_MASTER_KEY"));
  const { masterKeyFile } = config;
  if (masterKeyFile !== undefined) return rereadable(() => checked(read(masterKeyFile), masterKeyFile));
  prepareDataDir(dataDir);
  const path = join(dataDir, KEY_FILE);
  makeOnce(path);
  return rereadable(() => {
    if ((statSync(path).mode & 0o077) !== 0) {
      throw new JackfieldError("start_failed", { text: `Others can read the master key: run chmod 600 ${path}` });
    }
    return checked(read(path), path);
  });
}

/** The keyring of master keys of 32 bytes each; the first seals. */
export function keyringOf(...keys: MasterKeys): Keyring {
  return ring(() => keys);
}

/**
 * Puts a new master key before those in the file, from which running servers take it over.
 * Throws `start_failed` where the keys are in the environment, or the file cannot be written.
 */
export function addMasterKey({ config, dataDir }: { config: KeyConfig; dataDir: string }): void {
  if (config.masterKey !== undefined) {
    throw new JackfieldError("start_failed", {
      text: "The master key is in JACKFIELD_MASTER_KEY: put a new one before it there, separated by a comma.",
    });
  }
  const path = config.masterKeyFile ?? join(dataDir, KEY_FILE);
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(draft, `${newKey()}\n${read(path).trim()}\n`, { mode: statSync(path).mode & 0o777, flag: "wx" });
    renameSync(draft, path);
  } catch (cause) {
    rmSync(draft, { force: true });
    if (cause instanceof JackfieldError) throw cause;
    throw new JackfieldError("start_failed", { text: `The master key cannot be written: ${cause}`, cause });
  }
}

function rereadable(readKeys: () => MasterKeys): Keyring {
  return ring(readKeys, readKeys);
}

interface MasterKey {
  readonly id: string;
  derive(label: string): Buffer;
}

function ring(readKeys: () => MasterKeys, again?: () => MasterKeys): Keyring {
  let [first, ...older] = masterKeys(readKeys());
  let rereadAt = Number.NEGATIVE_INFINITY;
  const find = (keyId: string) => (first.id === keyId ? first : older.find(({ id }) => id === keyId));
  const reread = () => {
    if (again === undefined) return;
    rereadAt = performance.now();
    [first, ...older] = masterKeys(again());
  };
  return {
    get keyId() {
      return first.id;
    },
    get keyIds() {
      return [first.id, ...older.map(({ id }) => id)];
    },
    deriveKey: (label) => first.derive(label),
    keyOf(keyId, label) {
      const known = find(keyId);
      if (known !== undefined || performance.now() - rereadAt <= REREAD_MS) return known?.derive(label);
      try {
        reread();
      } catch {
        // A file that is gone, or being written, changes nothing: the key is not here.
        return undefined;
      }
      return find(keyId)?.derive(label);
    },
    reread,
  };
}

function masterKeys([first, ...older]: MasterKeys): [MasterKey, ...MasterKey[]] {
  return [masterKey(first), ...older.map(masterKey)];
}

function masterKey(key: Buffer): MasterKey {
  const derived = new Map<string, Buffer>();
  const derive = (label: string): Buffer => {
    let found = derived.get(label);
    if (found === undefined) {
      found = Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), `jackfield/${label}`, 32));
      derived.set(label, found);
    }
    return found;
  };
  return { id: createHash("sha256").update(derive("key-id")).digest("hex").slice(0, 8), derive };
}

/** Writes a new key beside its place and links it there: whoever comes second finds the first one's, complete. */
function makeOnce(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(draft, `${newKey()}\n`, { mode: 0o600, flag: "wx" });
    linkSync(draft, path);
  } catch (cause) {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    if (!exists)
      throw new JackfieldError("start_failed", { text: `The master key cannot be written: ${cause}`, cause });
  } finally {
    rmSync(draft, { force: true });
  }
}

function newKey(): string {
  return randomBytes(32).toString("base64url");
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const text = `The master key cannot be read: ${cause instanceof Error ? cause.message : cause}`;
    throw new JackfieldError("start_failed", { text, cause });
  }
}

function checked(text: string, source: string): MasterKeys {
  const keys = parseMasterKeys(text);
  if (keys !== undefined) return keys;
  throw new JackfieldError("start_failed", { text: `${source} does not hold 32 bytes in base64 or hexadecimal.` });
}
