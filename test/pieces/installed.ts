/** Real pieces in a data directory that stays between runs: installed by the product, as an operator would. */
import { cpSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createPool } from "../../sandbox/pool.ts";
import { installPiece } from "../../server/pieces/install.ts";
import { readSpec, specOf } from "../../server/pieces/names.ts";
import { openPieceStore } from "../../server/pieces/store.ts";
import { createMemoryLocks } from "../../server/shared-state/memory-locks.ts";
import { silentLog } from "../fixtures/silent-log.ts";

/** Where they are kept. */
export const PIECES_DIR = resolve(import.meta.dirname, "../../node_modules/.cache/pieces");

/** Installs what is not there. @throws JackfieldError `piece_refused` */
export async function installReal(specs: readonly string[]): Promise<void> {
  const store = openPieceStore(PIECES_DIR);
  const pool = createPool({
    fetch: () => Promise.reject(new Error("nothing is asked while a piece is loaded")),
    log: silentLog,
    bundleDirectory: store.bundles,
    cacheDirectory: join(PIECES_DIR, "pieces", "cache"),
  });
  try {
    for (const spec of specs) {
      const piece = readSpec(spec);
      if (piece === undefined) throw new Error(`${spec} is no piece`);
      const parts = { store, pool, locks: createMemoryLocks(), env: process.env, clock: Date.now };
      await installPiece(parts, piece);
    }
  } finally {
    await pool.close();
  }
}

/** A directory for a product whose data directory has these pieces installed. */
export function withPiecesOf(specs: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), "jackfield-pieces-"));
  const store = openPieceStore(join(directory, "data"));
  const installed = openPieceStore(PIECES_DIR).read();
  mkdirSync(store.bundles, { recursive: true, mode: 0o700 });
  for (const spec of specs) {
    const piece = readSpec(spec);
    const entry = piece && installed.get(specOf(piece));
    if (!piece || !entry) throw new Error(`${spec} is not installed`);
    cpSync(join(PIECES_DIR, "pieces", "bundles", entry.bundle), join(store.bundles, entry.bundle), { recursive: true });
    store.put(piece, entry);
  }
  return directory;
}
