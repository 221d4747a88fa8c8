/** What a tool's own name says about it, worked out once per document. */
import type { SearchDocument } from "./documents.ts";
import type { Query } from "./query.ts";
import { splitWords, tokenize } from "./tokenize.ts";
import { type VerbClasses, verbClasses } from "./verbs.ts";

export interface ActionFacts {
  /** Classes of the action's verb, else of the first word of its description. */
  readonly verbs: VerbClasses;
  /** Terms of the action's name without those of its connection's: what distinguishes it from its neighbours. */
  readonly terms: readonly string[];
  /** The action in lower-case words. */
  readonly words: string;
}

const factsByDocument = new WeakMap<SearchDocument, ActionFacts>();
/** Words of an action's name among which its verb is looked for. */
const NAME_WORDS = 8;

export function factsOf(document: SearchDocument): ActionFacts {
  let facts = factsByDocument.get(document);
  if (facts === undefined) {
    const shared = new Set(tokenize(document.connection));
    const named = verbClasses(document.action, NAME_WORDS);
    facts = {
      verbs: named.size > 0 ? named : verbClasses(document.description ?? "", 1),
      terms: tokenize(document.action).filter((term) => !shared.has(term)),
      words: splitWords(document.action).join(" "),
    };
    factsByDocument.set(document, facts);
  }
  return facts;
}

/** Share of a name's weight that the query asks for (0 to 1): a tool that does no more than what is asked comes first. */
export function nameCoverage(
  facts: ActionFacts,
  asked: ReadonlyMap<string, number>,
  idfOf: (term: string) => number,
): number {
  let weight = 0;
  let covered = 0;
  for (const term of facts.terms) {
    const idf = idfOf(term);
    weight += idf;
    covered += idf * (asked.get(term) ?? 0);
  }
  return weight > 0 ? covered / weight : 0;
}

/** Every term that may stand for a word of the query, with its best weight. */
export function askedTerms(query: Query): Map<string, number> {
  const asked = new Map<string, number>();
  for (const { alternatives } of query.words) {
    for (const { term, weight } of alternatives) if ((asked.get(term) ?? 0) < weight) asked.set(term, weight);
  }
  return asked;
}
