/**
 * What kind of doing a text asks for or a tool offers. A query that adds something is served better by a tool that
 * posts than by one that lists, however alike their other words are. Data in `data/verbs.json`: classes of verbs; a
 * verb may be in several.
 */
import data from "./data/verbs.json" with { type: "json" };
import { splitWords, stem } from "./tokenize.ts";

export type VerbClasses = ReadonlySet<string>;

const NONE: VerbClasses = new Set();
const classesByStem = new Map<string, Set<string>>();
for (const [name, verbs] of Object.entries(data)) {
  for (const verb of verbs) {
    const known = classesByStem.get(stem(verb));
    if (known === undefined) classesByStem.set(stem(verb), new Set([name]));
    else known.add(name);
  }
}

/** Classes of the first verb among the first words of a text; empty where there is none. */
export function verbClasses(text: string, words: number): VerbClasses {
  for (const word of splitWords(text).slice(0, words)) {
    const found = classesByStem.get(stem(word));
    if (found !== undefined) return found;
  }
  return NONE;
}

/** Whether two texts have a class in common; undefined where one of them has none. */
export function sameDoing(a: VerbClasses, b: VerbClasses): boolean | undefined {
  if (a.size === 0 || b.size === 0) return undefined;
  for (const name of a) if (b.has(name)) return true;
  return false;
}
