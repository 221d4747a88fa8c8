/** The master key, and the keys that are derived from it for one purpose each. */
import { createHash, hkdfSync, randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Config, parseMasterKey } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { prepareDataDir } from "../store/data-dir.ts";

export interface Keyring {
  /** Names the master key without giving it away; stands in everything that is sealed with it. */
  readonly keyId: string;
  /** 32 bytes for one purpose: HKDF-SHA-256 (RFC 5869) of the master key with the label as `info`. */
  deriveKey(label: string): Buffer;
}

export const KEY_FILE = "master.key";

/**
 * Opens the master key: from the configuration, from its file, or from `master.key` in the data directory, which is
 * made on first use, readable by its owner only. Any number of processes may start at once.
 * Throws `start_failed` where the key cannot be read or others could read it.
 */
export async function openKeyring({
  config,
  dataDir,
}: {
  config: Pick<Config, "masterKey" | "masterKeyFile">;
  dataDir: string;
}): Promise<Keyring> {
  if (config.masterKey !== undefined) return keyringOf(checked(config.masterKey, "JACKFIELD_MASTER_KEY"));
  if (config.masterKeyFile !== undefined) return keyringOf(checked(read(config.masterKeyFile), config.masterKeyFile));
  prepareDataDir(dataDir);
  const path = join(dataDir, KEY_FILE);
  makeOnce(path);
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new JackfieldError("start_failed", { text: `Others can read the master key: run chmod 600 ${path}` });
  }
  return keyringOf(checked(read(path), path));
}

/** The keyring of a master key of 32 bytes. */
export function keyringOf(masterKey: Buffer): Keyring {
  const derived = new Map<string, Buffer>();
  const deriveKey = (label: string): Buffer => {
    let key = derived.get(label);
    if (key === undefined) {
      key = Buffer.from(hkdfSync("sha256", masterKey, Buffer.alloc(0), `jackfield/${label}`, 32));
      derived.set(label, key);
    }
    return key;
  };
  return { keyId: createHash("sha256").update(deriveKey("key-id")).digest("hex").slice(0, 8), deriveKey };
}

/** Writes a new key beside its place and links it there: whoever comes second finds the first one's, complete. */
function makeOnce(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(draft, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx" });
    linkSync(draft, path);
  } catch (cause) {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    if (!exists)
      throw new JackfieldError("start_failed", { text: `The master key cannot be written: ${cause}`, cause });
  } finally {
    rmSync(draft, { force: true });
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const text = `The master key cannot be read: ${cause instanceof Error ? cause.message : cause}`;
    throw new JackfieldError("start_failed", { text, cause });
  }
}

function checked(text: string, source: string): Buffer {
  const key = parseMasterKey(text);
  if (key !== undefined) return key;
  throw new JackfieldError("start_failed", { text: `${source} does not hold 32 bytes in base64 or hexadecimal.` });
}
