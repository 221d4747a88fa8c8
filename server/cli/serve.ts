/** `serve`: first start where needed, then the server until a signal ends it. */

import { closeSync, openSync } from "node:fs";
import type { Command } from "commander";
import { type Config, readConfig } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { createLog, type Log } from "../observe/log.ts";
import { renderClientConfigurations } from "./client-config.ts";
import { failureLine } from "./failure.ts";
import { type FirstStart, prepareStart, writeSetupLink } from "./first-start.ts";
import type { CliIo, ServedApp } from "./io.ts";
import { setupUrl } from "./people-links.ts";

/** Longest wait for requests in flight; below the 10 s after which container engines kill. */
const DRAIN_MS = 9000;
/** A terminal and a launcher may both deliver the same Ctrl-C: what comes this soon after is no second wish. */
const SAME_SIGNAL_MS = 1000;

export function addServe(program: Command, io: CliIo): void {
  program
    .command("serve")
    .description("run the server (what happens without a command)")
    .option("--json", "print where the endpoint is as one JSON line")
    .action(async (options: { json?: boolean }) => {
      const config = readConfig(io.env);
      const log = createLog(config);
      const start = await prepareStart(config, io);
      const stop = untilStopped(io.terminal);
      const app = await io.createApp({ config, log });
      try {
        const { url } = await app.listen();
        announce(io, url, start, setupOf(config, io, url, start), options.json === true);
        await reloadOnHangup(app, io, log, stop.asked);
        log.info({ signal: await stop.asked }, "stopping");
      } finally {
        stop.release();
        await close(app);
      }
    });
}

/** Reads the files again on each SIGHUP until the server stops. A wrong file changes nothing but the log. */
async function reloadOnHangup(app: ServedApp, io: CliIo, log: Log, stopped: Promise<unknown>): Promise<void> {
  let last: Promise<void> = Promise.resolve();
  const reload = () => {
    if (io.terminal && terminalGone()) return;
    last = last
      .then(() => app.reload())
      .then(
        () => log.info({}, "configuration read again"),
        (error: unknown) =>
          log.error({ reason: failureLine(error) }, "the configuration is wrong; the running one stays as it was"),
      );
  };
  process.on("SIGHUP", reload);
  try {
    await stopped;
    await last;
  } finally {
    process.off("SIGHUP", reload);
  }
}

/**
 * The system sends SIGHUP to what runs in a terminal when its window is closed, too. The terminal is gone then, and
 * nobody could stop the server with Ctrl-C any more.
 */
function terminalGone(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return false;
  } catch (error) {
    return error instanceof Error;
  }
}

/** Listens for SIGTERM and SIGINT (and for the end of its terminal) from now on; a second one, later than a doubled first, ends the process at once. */
function untilStopped(terminal: boolean): { asked: Promise<string>; release(): void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  let askedAt: number | undefined;
  const ask = (signal: string) => {
    if (askedAt !== undefined && performance.now() - askedAt > SAME_SIGNAL_MS) process.exit(1);
    askedAt ??= performance.now();
    resolve(signal);
  };
  const hangUp = () => {
    if (terminal && terminalGone()) ask("SIGHUP");
  };
  process.on("SIGHUP", hangUp);
  process.on("SIGTERM", ask);
  process.on("SIGINT", ask);
  return {
    asked: promise,
    release: () => {
      process.off("SIGHUP", hangUp);
      process.off("SIGTERM", ask);
      process.off("SIGINT", ask);
    },
  };
}

/** @throws JackfieldError where requests in flight do not end in time, so that the exit code tells */
async function close(app: ServedApp): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new JackfieldError("start_failed", { text: `Not everything ended within ${DRAIN_MS / 1000} s.` }));
  }, DRAIN_MS);
  try {
    await Promise.race([app.close(), late]);
  } finally {
    clearTimeout(timer);
  }
}

interface Setup {
  /** The link itself, where a person reads along. */
  link?: string;
  /** Else the 0600 file that holds it. */
  file?: string;
}

/** The link to the page that makes the first admin; its origin is known only now that the server listens. */
function setupOf(config: Config, io: CliIo, url: string, { setupSecret }: FirstStart): Setup {
  if (setupSecret === undefined) return {};
  const link = setupUrl(new URL(url).origin, setupSecret);
  return io.terminal ? { link } : { file: writeSetupLink(config, link) };
}

function announce(io: CliIo, url: string, start: FirstStart, setup: Setup, json: boolean): void {
  if (json) {
    const { token, tokenFile, quickstart } = start;
    const shown = { url, token: io.terminal ? token : undefined, tokenFile, quickstart };
    io.out(`${JSON.stringify({ ...shown, setupLink: setup.link, setupLinkFile: setup.file })}\n`);
    return;
  }
  if (start.quickstart !== undefined) {
    io.out(`There was no configuration: the sample connections were copied to ${start.quickstart}.\n`);
  }
  io.out(`Jackfield serves MCP at ${url}\n`);
  if (setup.link !== undefined) {
    io.out(`\nBecome its admin in a browser, once, within 24 hours:\n\n  ${setup.link}\n\n`);
  } else if (setup.file !== undefined) {
    io.out(`The link that makes its admin, once, within 24 hours, is in ${setup.file} (readable by you only).\n`);
  } else if (start.needsAdmin) {
    io.out("Nobody is its admin yet. A link that makes one: npm run -s jackfield -- people setup-link\n");
  }
  if (start.token === undefined) {
    io.out("A token for a client: npm run -s jackfield -- token create --name NAME\n");
    return;
  }
  if (start.tokenFile === undefined) {
    io.out(`\nYour token, shown only now:\n\n  ${start.token}\n\nConnect a client:\n\n`);
    io.out(renderClientConfigurations({ url, token: start.token }));
  } else {
    io.out(`\nYour token is in ${start.tokenFile} (readable by you only).\n\nConnect a client:\n\n`);
    io.out(renderClientConfigurations({ url, token: "<token>", shellToken: `$(cat '${start.tokenFile}')` }));
  }
}
