/** Tools that a query names. A model that knows a name must get the tool, whatever its words weigh. */
import type { SearchIndex } from "./index.ts";
import type { Segment } from "./segment.ts";
import { splitWords } from "./tokenize.ts";

/** The whole query is a tool's name, action or title. */
export const EXACT_WHOLE = 2;
/** The query holds one as a run of at least two words. */
export const EXACT_PART = 1;
/** Longest name in words that is looked for inside a query. */
const MAX_RUN = 8;

/** How exactly the query names a document, by document number; only those that it names. */
export function exactMatches(index: SearchIndex, text: string): Map<number, number> {
  const words = splitWords(text);
  const matches = new Map<number, number>();
  const find = (name: string, how: number) => {
    for (const { segment, offset } of index.segments) {
      for (const document of namesOf(segment).get(name) ?? []) matches.set(offset + document, how);
    }
  };
  for (let from = 0; from < words.length; from += 1) {
    let run = words[from]!;
    for (let length = 2; length <= MAX_RUN && from + length <= words.length; length += 1) {
      run += words[from + length - 1]!;
      find(run, EXACT_PART);
    }
  }
  find(words.join(""), EXACT_WHOLE);
  return matches;
}

const namesBySegment = new WeakMap<Segment, Map<string, number[]>>();

/** Documents by each of their names, without case and separators. */
function namesOf(segment: Segment): Map<string, number[]> {
  let names = namesBySegment.get(segment);
  if (names === undefined) {
    names = new Map();
    for (const [at, document] of segment.documents.entries()) {
      const own = [document.name, document.action, document.title ?? ""].map((name) => splitWords(name).join(""));
      for (const name of new Set(own)) {
        if (name === "") continue;
        const list = names.get(name);
        if (list === undefined) names.set(name, [at]);
        else list.push(at);
      }
    }
    namesBySegment.set(segment, names);
  }
  return names;
}
