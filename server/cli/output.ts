/** How commands print: JSON for programs, aligned columns for people. */

import type { CliIo } from "./io.ts";

/** One JSON document and a newline. Dates become ISO 8601 text. */
export function printJson(io: CliIo, value: unknown): void {
  io.out(`${JSON.stringify(value)}\n`);
}

/** Rows under a header, columns padded to their widest cell. Empty: the given sentence instead. */
export function printTable(io: CliIo, header: string[], rows: string[][], empty: string): void {
  if (rows.length === 0) {
    io.out(`${empty}\n`);
    return;
  }
  const table = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...table.map((row) => (row[column] ?? "").length)));
  for (const row of table) {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)));
    io.out(`${cells.join("  ").trimEnd()}\n`);
  }
}

/** A moment as people read it, UTC to the minute; `-` for none. */
export function moment(date: Date | null | undefined): string {
  return date ? `${date.toISOString().slice(0, 16).replace("T", " ")}Z` : "-";
}

/** Text of a stranger on one line: control characters out, cut at `limit` characters. */
export function oneLine(text: string | null | undefined, limit = 100): string {
  const line = (text ?? "").replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}
