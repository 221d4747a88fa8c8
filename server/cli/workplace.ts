/** What most commands need opened: the data directory, the master key, the migrated database and the shared state. */

import { type Config, readConfig } from "../config.ts";
import { createLog, type Log } from "../observe/log.ts";
import type { SharedState } from "../shared-state/contract.ts";
import { openSharedState } from "../shared-state/open.ts";
import { prepareDataDir } from "../store/data-dir.ts";
import { openStore, type Store } from "../store/database.ts";
import { migrate } from "../store/migrate.ts";
import { type Keyring, openKeyring } from "../vault/keyring.ts";
import { ensureFirstOrganization } from "./first-organization.ts";
import type { CliIo } from "./io.ts";

export interface Workplace {
  config: Config;
  log: Log;
  store: Store;
  keyring: Keyring;
  shared: SharedState;
}

/**
 * Opens the workplace, hands it to `work` and closes it again, whatever happens. Migrations run first, so that a
 * command works before the first start and after an upgrade.
 */
export async function withWorkplace<T>(io: CliIo, work: (workplace: Workplace) => Promise<T>): Promise<T> {
  const config = readConfig(io.env);
  prepareDataDir(config.dataDir);
  const log = quietLog(config);
  const keyring = await openKeyring({ config, dataDir: config.dataDir });
  const store = await openStore({ url: config.databaseUrl, dataDir: config.dataDir, log });
  try {
    await migrate(store);
    await ensureFirstOrganization(store);
    const shared = await openSharedState({ config, store, log });
    try {
      return await work({ config, log, store, keyring, shared });
    } finally {
      await shared.close();
    }
  } finally {
    await store.close();
  }
}

/** A command says on one line why it failed; what the parts of the server would log beside it is for `debug`. */
export function quietLog(config: Config): Log {
  const level = config.log.level === "debug" || config.log.level === "silent" ? config.log.level : "error";
  return createLog({ log: { ...config.log, level } });
}
