/** What a command may touch of the process around it; tests and `main.ts` hand it over. */

import { once } from "node:events";
import type { Config } from "../config.ts";
import type { Log } from "../observe/log.ts";
import { readInput } from "./standard-input.ts";

/** The part of the app that `serve` drives. `main.ts` hands it over, because nothing in `cli/` may import the app. */
export interface ServedApp {
  /** Starts listening; rejects with Node's own error (`EADDRINUSE`, `EACCES`) where it cannot. */
  listen(): Promise<{ url: string }>;
  /** Stops taking requests, lets those in flight finish, closes what was opened. */
  close(): Promise<void>;
  /** Reads the configuration files again; rejects and keeps the running ones where they are wrong. */
  reload(): Promise<void>;
}

export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard output: what a command was asked for. */
  out(text: string): void;
  /** Resolves when whoever reads along has taken what was put out; false where nobody reads any more. */
  taken(): Promise<boolean>;
  /** Standard error: one line that says why it failed. */
  err(text: string): void;
  /** Standard input to its end; from a terminal one line that is not shown, after the prompt. */
  input(prompt: string): Promise<string>;
  /** True where standard output is a terminal, i.e. where a person reads along. */
  readonly terminal: boolean;
  createApp(options: { config: Config; log: Log }): Promise<ServedApp>;
}

/** The real process as a `CliIo`. */
export function processIo(createApp: CliIo["createApp"]): CliIo {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", readerGone);
  return {
    env: process.env,
    out: (text) => {
      process.stdout.write(text);
    },
    taken: () => taken(process.stdout),
    err: (text) => {
      process.stderr.write(text);
    },
    input: (prompt) => readInput(process.stdin, prompt, (text) => process.stderr.write(text)),
    terminal: process.stdout.isTTY === true,
    createApp,
  };
}

async function taken(stream: NodeJS.WriteStream): Promise<boolean> {
  if (stream.writableNeedDrain) await Promise.race([once(stream, "drain"), once(stream, "close")]);
  return !stream.destroyed;
}

/** Whoever read along (`| head`, a closed terminal) may go at any time; that ends neither a command nor the server. */
function readerGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
}
