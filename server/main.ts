/** Reads the command line and runs it; `serve` is what happens without a command. */
import { processIo } from "./cli/io.ts";
import { runCli } from "./cli/program.ts";

/** Loaded by `serve` only: the other commands start in a third of the time without it. */
const createApp: Parameters<typeof processIo>[0] = async (options) => (await import("./app.ts")).createApp(options);

process.exitCode = await runCli(process.argv.slice(2), processIo(createApp));
