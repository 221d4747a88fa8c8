/** `migrate`: brings the database to this version's tables; safe to run again and beside others. */

import type { Command } from "commander";
import { readConfig } from "../config.ts";
import { prepareDataDir } from "../store/data-dir.ts";
import { openStore } from "../store/database.ts";
import { migrate } from "../store/migrate.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { quietLog } from "./workplace.ts";

export function addMigrate(program: Command, io: CliIo): void {
  program
    .command("migrate")
    .description("bring the database up to date (the server does it too when it starts)")
    .option("--json", "print JSON")
    .action(async (options: { json?: boolean }) => {
      const config = readConfig(io.env);
      prepareDataDir(config.dataDir);
      const store = await openStore({ url: config.databaseUrl, dataDir: config.dataDir, log: quietLog(config) });
      try {
        const applied = await migrate(store);
        if (options.json) return printJson(io, { applied });
        io.out(applied.length === 0 ? "Nothing to do.\n" : `Applied: ${applied.join(", ")}\n`);
      } finally {
        await store.close();
      }
    });
}
