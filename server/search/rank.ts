/** Ranks the tools of an index for one query. Deterministic: equal scores keep the order of the index. */
import type { SearchIndex } from "./index.ts";
import { analyseQuery, type Query } from "./query.ts";
import { splitWords } from "./tokenize.ts";

export interface Hit {
  /** Number of the document in the index. */
  readonly document: number;
  /** 0 to 1; comparable within one query. */
  readonly score: number;
  /** The query is, or holds, the tool's name, action or title. */
  readonly exact: boolean;
  /** Words of the query that the tool matches, as written. */
  readonly matched: readonly string[];
  /** Share of the query's weight that is matched (0 to 1). */
  readonly coverage: number;
  /** The same tool of sibling connections (same action, same definition), by document number. */
  readonly alsoIn: readonly number[];
}

export interface Ranking {
  readonly query: Query;
  /** Best first; only what is not far behind the best. */
  readonly hits: readonly Hit[];
}

/** What the parts of a score weigh; each was measured on its own. */
export const RANK = {
  /** BM25 saturation. */
  k1: 1.2,
  /** Lift of a connection that the query names, times how telling the name is. */
  named: 0.6,
  /** Share of a connection's evidence (the mean of its three best scores) that each of its tools gets. */
  connection: 0.5,
  /** What a tool loses where the same action of another connection stands before it. */
  sibling: 0.5,
  /** Hits below this share of the best one are not shown. */
  tail: 0.2,
};

const EXACT_WHOLE = 2;
const EXACT_PART = 1;
/** Longest name in words that is looked for inside a query. */
const MAX_RUN = 8;

/** Ranks at most `most` hits; `admits` narrows to documents before anything is cut. */
export function rank(
  index: SearchIndex,
  text: string,
  options: { admits?: (document: number) => boolean; most?: number } = {},
): Ranking {
  const query = analyseQuery(index, text);
  const most = options.most ?? 100;
  const exact = exactMatches(index, text);
  const base = scoreWords(index, query);
  const candidates = admitted(base, exact, options.admits ?? (() => true));
  const scores = withConnections(index, query, candidates, base);
  const compare = (a: number, b: number) =>
    (exact.get(b) ?? 0) - (exact.get(a) ?? 0) || scores.get(b)! - scores.get(a)! || a - b;
  candidates.sort(compare);
  const groups = collapse(index, candidates, scores, exact, most * 4);

  // The same action of another connection comes after what is new, not beside its twin.
  const shown = new Set<string>();
  for (const { lead } of groups) {
    const action = splitWords(index.documents[lead]!.action).join(" ");
    if (shown.has(action) && !exact.has(lead)) scores.set(lead, scores.get(lead)! * (1 - RANK.sibling));
    shown.add(action);
  }
  groups.sort((a, b) => compare(a.lead, b.lead));

  const weight = query.words.reduce((sum, word) => sum + word.weight, 0);
  const hits = groups.slice(0, most).map(({ lead, alsoIn }): Hit => {
    const terms = index.termsOf(lead);
    const matched = query.words.filter((word) => word.alternatives.some(({ term }) => terms.has(term)));
    const score = scores.get(lead)!;
    return {
      document: lead,
      // Saturating, so that it stays below 1 and keeps the order.
      score: exact.get(lead) === EXACT_WHOLE ? 1 : score / (score + 0.3 * weight * (RANK.k1 + 1) || 1),
      exact: exact.has(lead),
      matched: matched.map(({ word }) => word),
      coverage: weight > 0 ? matched.reduce((sum, word) => sum + word.weight, 0) / weight : 0,
      alsoIn,
    };
  });
  return { query, hits };
}

/** BM25F of every document: for each word of the query the best of what may stand for it. */
function scoreWords(index: SearchIndex, query: Query): Float64Array {
  const scores = new Float64Array(index.documents.length);
  const best = new Float64Array(index.documents.length);
  const touched: number[] = [];
  for (const word of query.words) {
    for (const alternative of word.alternatives) {
      const posting = index.postings.get(alternative.term)!;
      const gain = alternative.weight * posting.idf * (RANK.k1 + 1);
      for (let at = 0; at < posting.documents.length; at += 1) {
        const document = posting.documents[at]!;
        const tf = posting.frequencies[at]!;
        const value = (gain * tf) / (RANK.k1 + tf);
        if (best[document] === 0) touched.push(document);
        if (value > best[document]!) best[document] = value;
      }
    }
    for (const document of touched) {
      scores[document] = scores[document]! + best[document]!;
      best[document] = 0;
    }
    touched.length = 0;
  }
  return scores;
}

/** Admitted documents with a score worth looking at; far more would be sorted than could be shown. */
function admitted(
  base: Float64Array,
  exact: ReadonlyMap<number, number>,
  admits: (document: number) => boolean,
): number[] {
  const found: number[] = [];
  let top = 0;
  for (let at = 0; at < base.length; at += 1) {
    if ((base[at]! > 0 || exact.has(at)) && admits(at)) {
      found.push(at);
      if (base[at]! > top) top = base[at]!;
    }
  }
  return found.filter((at) => exact.has(at) || base[at]! >= (top * RANK.tail) / 2);
}

/** Adds what speaks for the whole connection: its best tools together, and its name in the query. */
function withConnections(
  index: SearchIndex,
  query: Query,
  candidates: readonly number[],
  base: Float64Array,
): Map<number, number> {
  const byConnection = new Map<string, number[]>();
  for (const at of candidates) {
    const { connection } = index.documents[at]!;
    const list = byConnection.get(connection);
    if (list === undefined) byConnection.set(connection, [base[at]!]);
    else list.push(base[at]!);
  }
  const evidence = new Map<string, number>();
  for (const [connection, list] of byConnection) {
    const strongest = list.sort((a, b) => b - a).slice(0, 3);
    evidence.set(connection, strongest.reduce((sum, score) => sum + score, 0) / 3);
  }
  return new Map(
    candidates.map((at) => {
      const { connection } = index.documents[at]!;
      const lift = 1 + RANK.named * (query.named.get(connection) ?? 0);
      return [at, (base[at]! + RANK.connection * evidence.get(connection)!) * lift];
    }),
  );
}

/** Folds identical tools of sibling connections into their best one and drops the tail. */
function collapse(
  index: SearchIndex,
  ordered: readonly number[],
  scores: ReadonlyMap<number, number>,
  exact: ReadonlyMap<number, number>,
  most: number,
): { lead: number; alsoIn: number[] }[] {
  const top = ordered.reduce((highest, at) => Math.max(highest, scores.get(at)!), 0);
  const groups = new Map<string, { lead: number; alsoIn: number[] }>();
  for (const at of ordered.slice(0, most)) {
    if (!exact.has(at) && scores.get(at)! < RANK.tail * top) continue;
    const { action, schemaHash } = index.documents[at]!;
    const key = `${action}\0${schemaHash}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { lead: at, alsoIn: [] });
    else group.alsoIn.push(at);
  }
  return [...groups.values()];
}

/**
 * Documents whose name, action or title the query is, or holds as a run of at least two words. A model that knows the
 * name must get the tool, whatever its words weigh.
 */
function exactMatches(index: SearchIndex, text: string): Map<number, number> {
  const words = splitWords(text);
  const names = namesOf(index);
  const matches = new Map<number, number>();
  for (let from = 0; from < words.length; from += 1) {
    let run = words[from]!;
    for (let length = 2; length <= MAX_RUN && from + length <= words.length; length += 1) {
      run += words[from + length - 1]!;
      for (const document of names.get(run) ?? []) matches.set(document, EXACT_PART);
    }
  }
  for (const document of names.get(words.join("")) ?? []) matches.set(document, EXACT_WHOLE);
  return matches;
}

const namesByIndex = new WeakMap<SearchIndex, Map<string, number[]>>();

/** Documents by each of their names, without case and separators. */
function namesOf(index: SearchIndex): Map<string, number[]> {
  let names = namesByIndex.get(index);
  if (names === undefined) {
    names = new Map();
    for (const [at, document] of index.documents.entries()) {
      const own = [document.name, document.action, document.title ?? ""].map((name) => splitWords(name).join(""));
      for (const name of new Set(own)) {
        if (name === "") continue;
        const list = names.get(name);
        if (list === undefined) names.set(name, [at]);
        else list.push(at);
      }
    }
    namesByIndex.set(index, names);
  }
  return names;
}
