/** Parsers of option values that several commands share; each throws commander's error with the option's words. */

import { InvalidArgumentError } from "commander";

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
};

/** A span such as `90d`, `12h` or `2w` in milliseconds; `never` is Infinity. */
export function parseSpan(text: string): number {
  if (text === "never") return Number.POSITIVE_INFINITY;
  const match = /^(\d{1,6})([smhdwy])$/.exec(text);
  const unit = UNIT_MS[match?.[2] ?? ""];
  const count = Number(match?.[1]);
  if (unit === undefined || !(count > 0)) {
    throw new InvalidArgumentError("Give a number and a unit (s, m, h, d, w, y), such as 90d, or never.");
  }
  return count * unit;
}

/** Collects repeated `k=v` pairs; a later pair of the same name is an error, not an overwrite. */
export function collectVariable(text: string, previous: Record<string, string>): Record<string, string> {
  const at = text.indexOf("=");
  const name = text.slice(0, at);
  if (at < 1 || !/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name)) {
    throw new InvalidArgumentError("Give it as name=value.");
  }
  if (Object.hasOwn(previous, name)) throw new InvalidArgumentError(`${name} is given twice.`);
  return { ...previous, [name]: text.slice(at + 1) };
}

/** A positive whole number. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("Give a whole number above 0.");
  return Number(text);
}

/** Items of a comma-separated list, without blanks and doubles. */
export function parseList(text: string): string[] {
  const items = text.split(",").map((item) => item.trim());
  return [...new Set(items.filter((item) => item !== ""))];
}
