/** Whether the best hit of a query can be trusted: a wrong tool offered with certainty is worse than none. */

import known from "./data/known-apps.json" with { type: "json" };
import type { SearchIndex } from "./index.ts";
import type { Ranking } from "./rank.ts";
import { stem, tokenize } from "./tokenize.ts";

export type Confidence = "high" | "low" | "none";

export interface Judgement {
  readonly confidence: Confidence;
  /** Words of the query that nothing visible knows, and services that it names and the best hit is not of. */
  readonly unmatchedTerms: readonly string[];
  /** A well-known service that the query names and that no match belongs to. */
  readonly missingApp: string | undefined;
}

/** Share of the query's weight that the best hit must match. */
const ENOUGH = 0.18;
const KNOWN_APPS = new Set(known);
const APP_AFTER = /\b(?:in|on|to|into|from|via|with|through|using|at|of)\s+$/i;

/** Judges the ranking of one query. */
export function judge(index: SearchIndex, ranking: Ranking): Judgement {
  const unknown = ranking.query.words.filter((word) => word.unknown).map(({ word }) => word);
  const best = ranking.hits[0];
  if (best === undefined) return { confidence: "none", unmatchedTerms: unknown, missingApp: undefined };
  const terms = index.termsOf(best.document);
  const connected = namesOf(index);
  const missingApp = best.exact
    ? undefined
    : appsIn(ranking.query.text).find((app) => !terms.has(stem(app)) && !connected.has(stem(app)));
  const unmatchedTerms = missingApp === undefined ? unknown : [...new Set([...unknown, missingApp])];
  const sure = best.exact || (missingApp === undefined && best.coverage >= ENOUGH);
  return { confidence: sure ? "high" : "low", unmatchedTerms, missingApp };
}

const namesByIndex = new WeakMap<SearchIndex, Set<string>>();

/** Every word of the ids, labels and aliases of the connections. */
function namesOf(index: SearchIndex): Set<string> {
  let names = namesByIndex.get(index);
  if (names === undefined) {
    const texts = [...index.connections.values()].flatMap(({ slug, label, aliases }) => [slug, label, ...aliases]);
    names = new Set(texts.flatMap(tokenize));
    namesByIndex.set(index, names);
  }
  return names;
}

/** Well-known services in a text, lower case: written with a capital, or after a word such as "in" or "via". */
function appsIn(text: string): string[] {
  const apps: string[] = [];
  for (const match of text.matchAll(/[A-Za-z][A-Za-z0-9]+/g)) {
    const word = match[0].toLowerCase();
    if (!KNOWN_APPS.has(word)) continue;
    const before = text.slice(0, match.index);
    const capital = /^[A-Z]/.test(match[0]) && before.trim() !== "";
    if (capital || APP_AFTER.test(before)) apps.push(word);
  }
  return apps;
}
