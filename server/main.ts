/** Reads the command line and runs it; `serve` is what happens without a command. */
import { createApp } from "./app.ts";
import { processIo } from "./cli/io.ts";
import { runCli } from "./cli/program.ts";

process.exitCode = await runCli(process.argv.slice(2), processIo(createApp));
