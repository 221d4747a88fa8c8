/** The log: JSON lines, or short readable ones in a terminal; secrets are taken out of both. */
import { type DestinationStream, pino } from "pino";
import type { Log } from "../../adapters/contract.ts";
import type { Config } from "../config.ts";
import { redact, redactText } from "./redact.ts";

export type { Log };

/**
 * Makes the log. It goes to standard error unless a destination is given, because commands answer on standard output.
 * @param options.terminal whether the destination is one: decides the form where the configuration says `auto`
 */
export function createLog(
  config: { readonly log: Config["log"] },
  options: { destination?: DestinationStream; terminal?: boolean } = {},
): Log {
  const destination = options.destination ?? process.stderr;
  const terminal = options.terminal ?? (options.destination === undefined && process.stderr.isTTY === true);
  const { level, format } = config.log;
  const pretty = format === "pretty" || (format === "auto" && terminal);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    pretty ? { write: (line: string) => destination.write(readable(line)) } : destination,
  );
  const at =
    (name: "debug" | "info" | "warn" | "error") =>
    (details: object, message: string): void => {
      if (logger.isLevelEnabled(name)) logger[name](redact(details), redactText(message));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** `12:30:01 warn  message  key=value`, with the stack of an error below. */
function readable(line: string): string {
  const { level, time, msg, ...details }: Record<string, unknown> = JSON.parse(line);
  const fields: string[] = [];
  const stacks: string[] = [];
  for (const [name, value] of Object.entries(details)) {
    const stack = typeof value === "object" && value !== null && "stack" in value ? value.stack : undefined;
    if (typeof stack === "string") stacks.push(stack);
    else fields.push(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  }
  const head = [String(time).slice(11, 19), String(level).padEnd(5), String(msg), ...fields].join(" ");
  return `${[head, ...stacks].join("\n")}\n`;
}
