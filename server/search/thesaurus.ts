/** Words that mean nearly the same, and acronyms: data in `thesaurus.json`, stemmed once. */
import data from "./thesaurus.json" with { type: "json" };
import { splitWords, stem, tokenize } from "./tokenize.ts";

export interface Thesaurus {
  /** Stems that may stand for a stem; never the stem itself. */
  synonyms(term: string): readonly string[];
  /** Stems of what an acronym stands for; `word` is a lower-case word of the query, not stemmed. */
  acronym(word: string): readonly string[];
}

/** Builds a thesaurus; an operator's own groups and acronyms may be added to the shipped ones. */
export function createThesaurus(groups: readonly (readonly string[])[], acronyms: Record<string, string>): Thesaurus {
  const related = new Map<string, Set<string>>();
  for (const group of groups) {
    const terms = [...new Set(group.map((word) => stem(splitWords(word).join(""))))];
    for (const term of terms) {
      const others = related.get(term) ?? new Set();
      for (const other of terms) if (other !== term) others.add(other);
      related.set(term, others);
    }
  }
  const synonyms = new Map([...related].map(([term, others]) => [term, [...others]]));
  const expansions = new Map(Object.entries(acronyms).map(([word, text]) => [word, tokenize(text)]));
  return { synonyms: (term) => synonyms.get(term) ?? [], acronym: (word) => expansions.get(word) ?? [] };
}

export const THESAURUS: Thesaurus = createThesaurus(data.groups, data.acronyms);
