/**
 * Ranks the tools of an index for one query. Deterministic: equal scores keep the order of the index. What each part is
 * worth is measured in docs/search.md.
 */
import { askedTerms, factsOf, nameCoverage } from "./action-facts.ts";
import { EXACT_WHOLE, exactMatches } from "./exact.ts";
import type { SearchIndex } from "./index.ts";
import { analyseQuery, type Query } from "./query.ts";
import { sameDoing, verbClasses } from "./verbs.ts";

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

/** What the parts of a score weigh. */
export const RANK = {
  /** BM25 saturation. */
  k1: 1.2,
  /** Lift of a connection that the query names, times how telling the name is. */
  named: 0.6,
  /** Share of a connection's evidence (the mean of its three best scores) that each of its tools gets. */
  connection: 0.5,
  /** What a tool gains that does the kind of thing the query asks for, and loses that does another. */
  verb: 0.15,
  /** What a tool gains whose name holds nothing but what is asked for. */
  name: 0.15,
  /** What a tool loses where the same action of another connection stands before it. */
  sibling: 0.5,
  /** Hits below this share of the best one are not shown. */
  tail: 0.2,
};

/** Words of a query among which its verb is looked for. */
const QUERY_VERB_WORDS = 6;
/** Candidates that are looked at closely; the rest are far behind them. */
const CLOSE = 2000;
/** Steps of the score in which candidates are counted. */
const STEPS = 256;

/** The documents that a query reaches, with scores that connections may still lift. */
export interface Scored {
  readonly query: Query;
  readonly exact: ReadonlyMap<number, number>;
  readonly scores: ReadonlyMap<number, number>;
}

/** Ranks at most `most` hits; `admits` narrows to documents before anything is cut. */
export function rank(
  index: SearchIndex,
  text: string,
  options: { admits?: (document: number) => boolean; most?: number } = {},
): Ranking {
  return order(index, score(index, text, options.admits ?? (() => true)), options.most ?? 100);
}

/** Scores every admitted document that shares something with the query. */
export function score(index: SearchIndex, text: string, admits: (document: number) => boolean): Scored {
  const query = analyseQuery(index, text);
  const exact = exactMatches(index, text);
  const base = scoreWords(index, query);
  const candidates = admitted(base, exact, admits);
  const scores = withConnections(index, query, candidates, base);
  weighActions(index, query, text, scores);
  return { query, exact, scores };
}

/** Orders what was scored; `lifts` raise the tools of connections by a share, by slug. */
export function order(
  index: SearchIndex,
  { query, exact, scores: unlifted }: Scored,
  most: number,
  lifts: ReadonlyMap<string, number> = new Map(),
): Ranking {
  const scores = new Map(unlifted);
  if (lifts.size > 0) {
    for (const [at, value] of unlifted) scores.set(at, value * (1 + (lifts.get(index.documents[at]!.connection) ?? 0)));
  }
  const compare = (a: number, b: number) =>
    (exact.get(b) ?? 0) - (exact.get(a) ?? 0) || scores.get(b)! - scores.get(a)! || a - b;
  const groups = collapse(index, [...scores.keys()].sort(compare), scores, exact, most * 4);

  // The same action of another connection comes after what is new, not beside its twin.
  const shown = new Set<string>();
  for (const { lead } of groups) {
    const action = factsOf(index.documents[lead]!).words;
    if (shown.has(action) && !exact.has(lead)) scores.set(lead, scores.get(lead)! * (1 - RANK.sibling));
    shown.add(action);
  }
  groups.sort((a, b) => compare(a.lead, b.lead));

  const weight = query.words.reduce((sum, word) => sum + word.weight, 0);
  const hits = groups.slice(0, most).map(({ lead, alsoIn }): Hit => {
    const terms = index.termsOf(lead);
    const matched = query.words.filter((word) => word.alternatives.some(({ term }) => terms.has(term)));
    const value = scores.get(lead)!;
    return {
      document: lead,
      // Saturating, so that it stays below 1 and keeps the order.
      score: exact.get(lead) === EXACT_WHOLE ? 1 : value / (value + 0.3 * weight * (RANK.k1 + 1) || 1),
      exact: exact.has(lead),
      matched: [...new Set(matched.map(({ word }) => word))],
      coverage: weight > 0 ? matched.reduce((sum, word) => sum + word.weight, 0) / weight : 0,
      alsoIn,
    };
  });
  return { query, hits };
}

/** BM25F of every document: for each word of the query the best of what may stand for it. */
function scoreWords(index: SearchIndex, query: Query): Float32Array {
  const scores = new Float32Array(index.documents.length);
  const best = new Float32Array(index.documents.length);
  const touched = new Uint32Array(index.documents.length);
  for (const word of query.words) {
    let count = 0;
    for (const alternative of word.alternatives) {
      const gain = alternative.weight * index.idf(alternative.term)! * (RANK.k1 + 1);
      for (const { segment, offset } of index.segments) {
        const row = segment.rows.get(alternative.term);
        if (row === undefined) continue;
        const end = segment.starts[row + 1]!;
        for (let at = segment.starts[row]!; at < end; at += 1) {
          const document = offset + segment.found[at]!;
          const tf = segment.frequencies[at]!;
          const value = (gain * tf) / (RANK.k1 + tf);
          if (best[document] === 0) {
            touched[count] = document;
            count += 1;
          }
          if (value > best[document]!) best[document] = value;
        }
      }
    }
    for (let at = 0; at < count; at += 1) {
      const document = touched[at]!;
      scores[document] = scores[document]! + best[document]!;
      best[document] = 0;
    }
  }
  return scores;
}

/** Admitted documents with a score worth looking at, at most about `CLOSE`; what is named exactly is always there. */
function admitted(
  base: Float32Array,
  exact: ReadonlyMap<number, number>,
  admits: (document: number) => boolean,
): number[] {
  let found: number[] = [];
  let top = 0;
  for (let at = 0; at < base.length; at += 1) {
    if ((base[at]! > 0 || exact.has(at)) && admits(at)) {
      found.push(at);
      if (base[at]! > top) top = base[at]!;
    }
  }
  let least = (top * RANK.tail) / 2;
  if (found.length > CLOSE) {
    // Counted by steps of the score and not sorted: there may be tens of thousands.
    const counts = new Uint32Array(STEPS + 1);
    const step = top / STEPS || 1;
    for (const at of found) counts[Math.floor(base[at]! / step)]! += 1;
    let from = STEPS;
    for (let close = counts[from]!; from > 0 && close + counts[from - 1]! <= CLOSE; close += counts[from]!) from -= 1;
    least = Math.max(least, from * step);
  }
  found = found.filter((at) => base[at]! >= least || exact.has(at));
  return found;
}

/** Adds what speaks for the whole connection: its best tools together, and its name in the query. */
function withConnections(
  index: SearchIndex,
  query: Query,
  candidates: readonly number[],
  base: Float32Array,
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
    evidence.set(connection, strongest.reduce((sum, value) => sum + value, 0) / 3);
  }
  return new Map(
    candidates.map((at) => {
      const { connection } = index.documents[at]!;
      const lift = 1 + RANK.named * (query.named.get(connection) ?? 0);
      return [at, (base[at]! + RANK.connection * evidence.get(connection)!) * lift];
    }),
  );
}

/** Weighs what each tool's own name says: whether it does what is asked, and how little else. */
function weighActions(index: SearchIndex, query: Query, text: string, scores: Map<number, number>): void {
  const doing = verbClasses(text, QUERY_VERB_WORDS);
  const asked = askedTerms(query);
  const idfOf = (term: string) => index.idf(term) ?? 0;
  for (const [at, value] of scores) {
    const facts = factsOf(index.documents[at]!);
    const same = sameDoing(doing, facts.verbs);
    const verb = same === undefined ? 1 : same ? 1 + RANK.verb : 1 - RANK.verb;
    scores.set(at, value * verb * (1 + RANK.name * nameCoverage(facts, asked, idfOf)));
  }
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
