/** Name -> tool (design section 4, step 3). A name nobody has and a name this caller may not see answer alike. */
import { ERRORS, JackfieldError } from "../errors.ts";
import { redactText } from "../observe/redact.ts";
import type { ToolEntry, Toolset } from "./toolset.ts";

const folded = new WeakMap<Toolset, Map<string, ToolEntry>>();

/**
 * Finds a tool by its full name, by a spelling that differs only in `-` and `_` (some hosts fold them), or by its
 * bare action where exactly one visible tool has it.
 * @throws JackfieldError `unknown_tool`, naming the candidates where a bare action is ambiguous.
 */
export function resolveTool(toolset: Toolset, name: string): ToolEntry {
  const entry = toolset.byName.get(name) ?? byFoldedName(toolset).get(fold(name));
  if (entry) return entry;
  const same = toolset.byAction.get(name) ?? [];
  if (same.length === 1 && same[0]) return same[0];
  if (same.length > 1) {
    const candidates = same.slice(0, 8).map((candidate) => candidate.name);
    throw new JackfieldError("unknown_tool", {
      text: `Several connections have a tool "${clip(name)}": ${candidates.join(", ")}. Call one of these names.`,
      data: { candidates },
    });
  }
  // At a transparent endpoint there is no tool_search to point to.
  const advice = toolset.transparent ? "" : ` ${afterUnknown}`;
  throw new JackfieldError("unknown_tool", { text: `Unknown tool "${clip(name)}".${advice}` });
}

const afterUnknown = ERRORS.unknown_tool.text.slice("Unknown tool. ".length);
/** Some models put a secret where the name belongs. */
const clip = (name: string) => {
  const clean = redactText(name);
  return clean.length > 80 ? `${clean.slice(0, 80)}…` : clean;
};
const fold = (name: string) => name.replaceAll("-", "_");

function byFoldedName(toolset: Toolset): Map<string, ToolEntry> {
  let map = folded.get(toolset);
  if (!map) {
    map = new Map(toolset.entries.map((entry) => [fold(entry.name), entry]));
    folded.set(toolset, map);
  }
  return map;
}
