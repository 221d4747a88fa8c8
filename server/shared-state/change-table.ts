/**
 * Carries bus messages between processes that share a database but no Redis, such as the CLI beside a server: a row
 * per message, read by polling. On SQLite a poll is one `PRAGMA data_version`, which tells without touching the disk
 * whether another connection has written; the table is read only then.
 */
import { DatabaseSync } from "node:sqlite";
import { Op } from "sequelize";
import { ulid } from "ulid";
import type { Log } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { Payload } from "./contract.ts";

export interface ChangeTable {
  /** Rejects where the row cannot be written. */
  write(topic: string, payload: Payload): Promise<void>;
  close(): Promise<void>;
}

/** Another process hears of a message within this time, and the time of a query. */
const POLL_MS = 200;
const KEEP_MS = 10 * 60_000;
const PRUNE_MS = 60_000;
/**
 * On MySQL a lower id may be committed after a higher one, so this many are looked at again. SQLite has one writer at
 * a time: there ids appear in order.
 */
const OVERLAP = { sqlite: 0, mysql: 100 } as const;

/**
 * Starts to listen; what was written before is not heard.
 * @param hear called with the messages of other processes, in order
 */
export async function openChangeTable(
  store: Store,
  log: Log,
  clock: () => number,
  hear: (topic: string, payload: Payload) => void,
): Promise<ChangeTable> {
  const { changes } = store.models;
  const origin = ulid();
  const overlap = OVERLAP[store.dialect];
  const watch = store.file === undefined ? undefined : watchFile(store.file);
  const last: unknown = await changes.max("id");
  let newest = last === null || last === undefined ? 0 : Number(last);
  const floor = newest;
  let seen = new Set<number>();
  let reading: Promise<void> | undefined;
  let failing = false;
  let prunedAt = clock();

  async function read(): Promise<void> {
    const from = Math.max(floor, newest - overlap);
    const rows = await changes.findAll({ where: { id: { [Op.gt]: from } }, order: [["id", "ASC"]] });
    for (const row of rows) {
      const id = Number(row.id);
      if (seen.has(id)) continue;
      seen.add(id);
      newest = Math.max(newest, id);
      if (row.origin !== origin) hear(row.topic, row.payload);
    }
    seen = new Set([...seen].filter((id) => id > newest - overlap));
  }

  function poll(): void {
    if (reading !== undefined) return;
    reading = readIfChanged().finally(() => {
      reading = undefined;
    });
  }

  async function readIfChanged(): Promise<void> {
    try {
      if (watch !== undefined && !failing && !watch.changed()) return;
      await read();
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ error }, "messages of other processes cannot be read");
      failing = true;
    }
  }

  async function prune(): Promise<void> {
    const now = clock();
    if (now - prunedAt < PRUNE_MS) return;
    prunedAt = now;
    await changes.destroy({ where: { at: { [Op.lt]: new Date(now - KEEP_MS) } } });
  }

  const timer = setInterval(poll, POLL_MS);
  timer.unref();
  return {
    async write(topic, payload) {
      await changes.create({ origin, topic, payload, at: new Date(clock()) });
      await prune();
    },
    async close() {
      clearInterval(timer);
      await reading;
      watch?.close();
    },
  };
}

function watchFile(file: string): { changed(): boolean; close(): void } {
  // A connection of its own that never writes, because `data_version` counts the commits of all others.
  const database = new DatabaseSync(file, { timeout: 20 });
  const statement = database.prepare("PRAGMA data_version");
  const version = (): unknown => statement.get()?.["data_version"];
  let known: unknown;
  return {
    changed() {
      const now = version();
      const changed = now !== known;
      known = now;
      return changed;
    },
    close: () => database.close(),
  };
}
