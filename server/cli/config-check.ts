/** `config check`: reads variables and files as a start would, and says everything that is wrong at once. */

import type { Command } from "commander";
import { readConfig } from "../config.ts";
import { configurationEnv } from "../connections/environment.ts";
import { type LoadedConfig, loadConfigDir } from "../connections/files.ts";
import { problemText } from "../connections/yaml-file.ts";
import { JackfieldError } from "../errors.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";

export function addConfigCheck(parent: Command, io: CliIo): void {
  parent
    .command("check")
    .description("check the environment variables and the configuration files")
    .option("--json", "print JSON")
    .action((options: { json?: boolean }) => {
      const config = readConfig(io.env);
      const loaded = loadConfigDir(config.configDir, configurationEnv(io.env, config));
      const ok = loaded.errors.length === 0;
      if (options.json) {
        const { errors, missing, notes } = loaded;
        printJson(io, { ok, configDir: config.configDir, ...counts(loaded), errors, missing, notes });
      } else {
        for (const note of loaded.notes) io.out(`note: ${problemText(note)}\n`);
        for (const missing of loaded.missing) io.out(`warning: ${problemText(missing)}\n`);
        for (const error of loaded.errors) io.err(`${problemText(error)}\n`);
        const { connections, endpoints } = counts(loaded);
        if (ok) io.out(`${config.configDir}: ${connections} connections and ${endpoints} endpoints, all well.\n`);
      }
      if (!ok) {
        const count = loaded.errors.length;
        throw new JackfieldError("config_invalid", {
          text: `${config.configDir} is not valid: ${count === 1 ? "one error" : `${count} errors`}.`,
        });
      }
    });
}

function counts({ organizations }: LoadedConfig): { connections: number; endpoints: number } {
  const environments = organizations.flatMap((organization) => organization.environments);
  return {
    connections: environments.reduce((sum, environment) => sum + environment.connections.length, 0),
    endpoints: environments.reduce((sum, environment) => sum + environment.endpoints.length, 0),
  };
}
