/** Words that mean nearly the same, phrases, and acronyms: data in `data/thesaurus.json`, stemmed once. */
import data from "./data/thesaurus.json" with { type: "json" };
import { splitWords, stem, tokenize } from "./tokenize.ts";

export interface ThesaurusData {
  /** Words that may stand for each other. */
  readonly groups: readonly (readonly string[])[];
  /** What a phrase asks for ("get rid of": "delete remove"); `_` in it is one to three words. */
  readonly phrases: Readonly<Record<string, string>>;
  /** What an acronym stands for. */
  readonly acronyms: Readonly<Record<string, string>>;
}

export interface Thesaurus {
  /** Stems that may stand for a stem; never the stem itself. */
  synonyms(term: string): readonly string[];
  /** Stems of what an acronym stands for; `word` is a lower-case word of the query, not stemmed. */
  acronym(word: string): readonly string[];
  /** Phrases that stand in lower-case words (stop words kept). */
  phrases(words: readonly string[]): readonly PhraseMatch[];
}

export interface PhraseMatch {
  /** The phrase's own words. */
  readonly words: readonly string[];
  /** Stems of what it asks for. */
  readonly terms: readonly string[];
}

/** Most words that `_` in a phrase stands for. */
const MAX_GAP = 3;

/** Builds a thesaurus of several sources: the shipped one and an operator's own. */
export function createThesaurus(...sources: readonly Partial<ThesaurusData>[]): Thesaurus {
  const related = new Map<string, Set<string>>();
  const expansions = new Map<string, string[]>();
  const phrasesByFirst = new Map<string, { parts: string[]; terms: string[] }[]>();
  for (const { groups = [], phrases = {}, acronyms = {} } of sources) {
    for (const group of groups) relate(related, group);
    for (const [word, text] of Object.entries(acronyms)) expansions.set(word.toLowerCase(), tokenize(text));
    for (const [phrase, text] of Object.entries(phrases)) {
      const parts = phrase.toLowerCase().split(" ");
      const list = phrasesByFirst.get(parts[0]!) ?? [];
      list.push({ parts, terms: tokenize(text) });
      phrasesByFirst.set(parts[0]!, list);
    }
  }
  const synonyms = new Map([...related].map(([term, others]) => [term, [...others]]));
  return {
    synonyms: (term) => synonyms.get(term) ?? [],
    acronym: (word) => expansions.get(word) ?? [],
    phrases: (words) =>
      words.flatMap((word, at) =>
        (phrasesByFirst.get(word) ?? [])
          .filter(({ parts }) => standsAt(words, at, parts))
          .map(({ parts, terms }) => ({ words: parts.filter((part) => part !== "_"), terms })),
      ),
  };
}

function relate(related: Map<string, Set<string>>, group: readonly string[]): void {
  const terms = [...new Set(group.map((word) => stem(splitWords(word).join(""))))];
  for (const term of terms) {
    const others = related.get(term) ?? new Set();
    for (const other of terms) if (other !== term) others.add(other);
    related.set(term, others);
  }
}

/** Whether the parts of a phrase stand in the words from a place on. */
function standsAt(words: readonly string[], at: number, parts: readonly string[]): boolean {
  const [part, ...rest] = parts;
  if (part === undefined) return true;
  if (part !== "_") return words[at] === part && standsAt(words, at + 1, rest);
  for (let gap = 1; gap <= MAX_GAP; gap += 1) if (standsAt(words, at + gap, rest)) return true;
  return false;
}

export const THESAURUS: Thesaurus = createThesaurus(data);
