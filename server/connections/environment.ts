import { resolve } from "node:path";

/** Variables that a file may name whether or not the process has them. */
export const ALWAYS_SET: readonly string[] = ["JACKFIELD_DATA_DIR", "JACKFIELD_CONFIG_DIR"];

/**
 * The variables that `${env:NAME}` of a configuration file may name: those of the process, and the two directories
 * as absolute paths whether or not they were given.
 */
export function configurationEnv(
  env: Readonly<Record<string, string | undefined>>,
  { dataDir, configDir }: { dataDir: string; configDir: string },
): Record<string, string | undefined> {
  return { ...env, JACKFIELD_DATA_DIR: resolve(dataDir), JACKFIELD_CONFIG_DIR: resolve(configDir) };
}
