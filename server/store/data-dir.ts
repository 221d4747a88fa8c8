import { accessSync, closeSync, constants, mkdirSync, openSync } from "node:fs";
import { JackfieldError } from "../errors.ts";

/**
 * Makes the data directory, for its owner only, where it is not there yet.
 * Throws `start_failed` where it cannot be made or written.
 */
export function prepareDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new JackfieldError("start_failed", {
      text: `The data directory ${dataDir} cannot be used: ${reason(cause)}`,
      cause,
    });
  }
}

/** Makes a file that only its owner may read, unless it is there. */
export function preparePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch (cause) {
    throw new JackfieldError("start_failed", { text: `The file ${path} cannot be written: ${reason(cause)}`, cause });
  }
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
