/** A query made ready for one index: weighted alternatives per word, and the connections it names. */
import type { IndexedConnection, SearchIndex } from "./index.ts";
import type { Thesaurus } from "./thesaurus.ts";
import { isStopWord, splitWords, stem, tokenize } from "./tokenize.ts";

/** One word of the query with everything that may stand for it. The best alternative of a tool counts, not the sum. */
export interface QueryWord {
  /** As written (lower case). */
  readonly word: string;
  readonly term: string;
  /** Terms of the index and their weights, 0 to 1. */
  readonly alternatives: readonly { readonly term: string; readonly weight: number }[];
  /** The index knows neither the word nor, for a long one, a word one typing error away. */
  readonly unknown: boolean;
  /** How much the word says: its idf, or the largest idf where it is unknown. */
  readonly weight: number;
}

export interface Query {
  readonly text: string;
  readonly words: readonly QueryWord[];
  /** Connections named in it, by slug, with how telling the name is (0 to 1). */
  readonly named: ReadonlyMap<string, number>;
}

export const QUERY_WEIGHTS = { synonym: 0.35, acronym: 0.7, typo: 0.7, joined: 0.7, value: 0.25, idiom: 0.5 };
const MIN_TYPO_LENGTH = 5;

/** Words of connection names that say nothing about which one is meant. */
const GENERIC = new Set(
  ["mcp", "server", "servers", "remote", "api", "tool", "tools", "service", "the", "official", "client", "app"].map(
    stem,
  ),
);

/** Paths, addresses and mail addresses in a query are values for arguments; what kind they are says more. */
const LITERALS: readonly [RegExp, string][] = [
  [/\bhttps?:\/\/\S+/gi, "url"],
  [/(?<![\w@])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, "email"],
  [/(?<![\w/])(?:~|\.{1,2})?(?:\/[\w.@-]+)+\.(\w{1,5})\b/g, "file $1"],
  [/(?<![\w/])(?:~|\.{1,2})?(?:\/[\w.@-]+){2,}\/?/g, "directory"],
];

/** The words of a query, and of the values in it, which count less. */
function wordsOf(text: string): { raw: string[]; values: ReadonlySet<string> } {
  let rest = text;
  const values: string[] = [];
  for (const [literal, kind] of LITERALS) {
    rest = rest.replace(literal, (value, extension: unknown) => {
      values.push(value);
      return ` ${kind.replace("$1", typeof extension === "string" ? extension : "")} `;
    });
  }
  const own = splitWords(rest).filter((word) => !isStopWord(word));
  const inValues = values.flatMap(splitWords).filter((word) => !isStopWord(word) && !own.includes(word));
  return { raw: [...own, ...inValues], values: new Set(inValues) };
}

/** Analyses a query against an index. */
export function analyseQuery(index: SearchIndex, text: string): Query {
  const { thesaurus } = index;
  const { raw, values } = wordsOf(text);
  const terms = raw.map(stem);
  const words: QueryWord[] = [];
  const seen = new Set<string>();
  raw.forEach((word, at) => {
    const term = terms[at]!;
    if (seen.has(term)) return;
    seen.add(term);
    const alternatives = new Map<string, number>();
    const share = values.has(word) ? QUERY_WEIGHTS.value : 1;
    const offer = (other: string, part: number) => {
      const weight = part * share;
      if (index.idf(other) !== undefined && (alternatives.get(other) ?? 0) < weight) alternatives.set(other, weight);
    };
    offer(term, 1);
    const own = index.idf(term);
    for (const other of thesaurus.synonyms(term)) offer(other, QUERY_WEIGHTS.synonym);
    for (const other of thesaurus.acronym(word)) offer(other, QUERY_WEIGHTS.acronym);
    for (const neighbour of [terms[at + 1], at > 0 ? terms[at - 1] : undefined]) {
      if (neighbour === undefined) continue;
      const joined = neighbour === terms[at + 1] ? raw[at]! + raw[at + 1]! : raw[at - 1]! + raw[at]!;
      offer(stem(joined), QUERY_WEIGHTS.joined);
    }
    if (own === undefined && alternatives.size === 0) {
      for (const other of closeTerms(index, term)) offer(other, QUERY_WEIGHTS.typo);
    }
    words.push({
      word,
      term,
      alternatives: [...alternatives].map(([other, weight]) => ({ term: other, weight })),
      unknown: alternatives.size === 0,
      weight: share * (own ?? index.maxIdf),
    });
  });
  addPhrases(index, text, words, thesaurus);
  return { text, words, named: namedConnections(index, terms) };
}

/**
 * Adds what the phrases of a query ask for as words of their own. The words that make up a phrase then say less by
 * themselves: "let the team know" is about a message, not about letting or knowing.
 */
function addPhrases(index: SearchIndex, text: string, words: QueryWord[], thesaurus: Thesaurus): void {
  for (const { words: covered, terms } of thesaurus.phrases(splitWords(text))) {
    const stems = new Set(covered.map(stem));
    words.forEach((word, at) => {
      if (stems.has(word.term)) words[at] = weakened(word, QUERY_WEIGHTS.idiom);
    });
    for (const term of terms) {
      const alternatives = [{ term, weight: 1 }]
        .concat(thesaurus.synonyms(term).map((other) => ({ term: other, weight: QUERY_WEIGHTS.synonym })))
        .filter((alternative) => index.idf(alternative.term) !== undefined);
      if (alternatives.length === 0) continue;
      // No weight of its own: coverage is a share of what was written.
      words.push({ word: covered.join(" "), term, alternatives, unknown: false, weight: 0 });
    }
  }
}

function weakened(word: QueryWord, share: number): QueryWord {
  return {
    ...word,
    alternatives: word.alternatives.map(({ term, weight }) => ({ term, weight: weight * share })),
    weight: word.weight * share,
  };
}

/** Connections whose id, label or alias stands in the query as a run of words. */
function namedConnections(index: SearchIndex, terms: readonly string[]): Map<string, number> {
  const named = new Map<string, number>();
  const line = ` ${terms.join(" ")} `;
  for (const connection of index.connections.values()) {
    let best = 0;
    for (const phrase of phrasesOf(connection)) {
      if (!line.includes(` ${phrase.join(" ")} `)) continue;
      const rarity = Math.max(...phrase.map((term) => index.idf(term) ?? 0)) / index.maxIdf;
      best = Math.max(best, rarity);
    }
    if (best > 0) named.set(connection.slug, best);
  }
  return named;
}

const phraseCache = new WeakMap<IndexedConnection, string[][]>();

function phrasesOf(connection: IndexedConnection): string[][] {
  let phrases = phraseCache.get(connection);
  if (phrases === undefined) {
    phrases = [connection.slug, connection.label, ...connection.aliases]
      .map((name) => tokenize(name).filter((term) => !GENERIC.has(term)))
      .filter((phrase) => phrase.length > 0);
    phraseCache.set(connection, phrases);
  }
  return phrases;
}

/** Terms of the index one typing error away from a long unknown term, alphabetical. */
function closeTerms(index: SearchIndex, term: string): string[] {
  if (term.length < MIN_TYPO_LENGTH) return [];
  const close = new Set<string>();
  for (const { segment } of index.segments) {
    for (const length of [term.length - 1, term.length, term.length + 1]) {
      for (const other of segment.termsOfLength(length)) if (isOneEdit(term, other)) close.add(other);
    }
  }
  return [...close].sort().slice(0, 8);
}

/** Whether two different words are one insertion, deletion, substitution or swap of neighbours apart. */
export function isOneEdit(a: string, b: string): boolean {
  if (a.length > b.length) return isOneEdit(b, a);
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  if (a.length < b.length) return b.length - a.length === 1 && a.slice(at) === b.slice(at + 1);
  if (at === a.length) return false;
  if (a.slice(at + 1) === b.slice(at + 1)) return true;
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}
