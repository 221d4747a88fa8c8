/** The global `console`: lines go to the log of the call, within its budget. */
import { writeLog } from "./bridge.ts";
import { util } from "./node-util.ts";
import { sliceText } from "./primordials.ts";

const LEVELS = { debug: "debug", trace: "debug", log: "info", info: "info", dir: "info", table: "info" } as const;
const SILENT = [
  "group",
  "groupCollapsed",
  "groupEnd",
  "time",
  "timeEnd",
  "timeLog",
  "count",
  "countReset",
  "clear",
] as const;
/** As much of a value as a line can hold: joining long ones would copy them. */
const LONGEST = 4096;
/** Printing is not worth walking through large structures. */
const DEPTH = 3;

/** One line of what was printed, as Node would show it. */
function lineOf(values: readonly unknown[]): string {
  return values
    .slice(0, 16)
    .map((value) => {
      if (typeof value === "string") return sliceText(value, 0, LONGEST);
      try {
        const shown = value instanceof Error ? String(value.stack ?? value) : util.inspect(value, { depth: DEPTH });
        return sliceText(shown, 0, LONGEST);
      } catch {
        // A getter or a proxy of the piece threw.
        return Object.prototype.toString.call(value);
      }
    })
    .join(" ");
}

const printer =
  (level: "debug" | "info" | "warn" | "error") =>
  (...values: unknown[]): void =>
    writeLog(level, lineOf(values));

export const console = {
  ...Object.fromEntries(Object.entries(LEVELS).map(([name, level]) => [name, printer(level)])),
  ...Object.fromEntries(SILENT.map((name) => [name, (): void => undefined])),
  warn: printer("warn"),
  error: printer("error"),
  assert(condition: unknown, ...values: unknown[]): void {
    if (!condition) writeLog("error", lineOf(["Assertion failed:", ...values]));
  },
};
