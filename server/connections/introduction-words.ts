import type { Introduction } from "../../adapters/contract.ts";

/** How a service calls itself, e.g. `Tracker 2.1 (MCP 2025-11-25)`; undefined where it does not. */
export function introductionWords({ serverInfo, protocol }: Introduction): string | undefined {
  const { title, name, version } = serverInfo ?? {};
  const called = [title ?? name, version].filter((part) => typeof part === "string").join(" ");
  if (called === "") return undefined;
  if (protocol === undefined) return called;
  // A revision of MCP is a date; others say what they are.
  return `${called} (${/^\d/.test(protocol) ? "MCP " : ""}${protocol})`;
}
