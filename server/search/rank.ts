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

export const RANK = { k1: 1.2, named: 0.35, sibling: 0.5, tail: 0.2, cover: 0.25, conn: 0.5, nameCover: 0.1 };

/** Ranks at most `most` hits; `admits` narrows to documents before anything is cut. */
export function rank(
  index: SearchIndex,
  text: string,
  options: { admits?: (document: number) => boolean; most?: number } = {},
): Ranking {
  const query = analyseQuery(index, text);
  const admits = options.admits ?? (() => true);
  const count = index.documents.length;
  const scores = new Float64Array(count);
  const covered = new Float64Array(count);
  const best = new Float64Array(count);
  const touched: number[] = [];
  let possible = 0;
  let weights = 0;
  for (const word of query.words) {
    touched.length = 0;
    weights += word.weight;
    possible += word.weight * (RANK.k1 + 1);
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
      covered[document] =
        covered[document]! + Math.min(1, (best[document]! / (word.weight * (RANK.k1 + 1))) * 2) * word.weight;
      best[document] = 0;
    }
  }
  const exact = exactMatches(index, text);
  const candidates: number[] = [];
  for (let at = 0; at < count; at += 1) if ((scores[at]! > 0 || exact.has(at)) && admits(at)) candidates.push(at);
  return {
    query,
    hits: order(index, query, candidates, { scores, covered, exact, possible, weights }, options.most ?? 100),
  };
}

interface Evidence {
  scores: Float64Array;
  covered: Float64Array;
  exact: ReadonlyMap<number, number>;
  possible: number;
  weights: number;
}

function order(index: SearchIndex, query: Query, candidates: number[], evidence: Evidence, most: number): Hit[] {
  const { scores, covered, exact, possible, weights } = evidence;
  const final = new Map<number, number>();
  const connectionBest = new Map<string, number[]>();
  for (const at of candidates) {
    const slug = index.documents[at]!.connection;
    const list = connectionBest.get(slug) ?? [];
    list.push(scores[at]!);
    connectionBest.set(slug, list);
  }
  const connectionScore = new Map<string, number>();
  for (const [slug, list] of connectionBest) {
    list.sort((a, b) => b - a);
    const top = list.slice(0, 3);
    connectionScore.set(slug, top.reduce((a, b) => a + b, 0) / 3);
  }
  for (const at of candidates) {
    const { connection } = index.documents[at]!;
    let score = scores[at]! * (1 + RANK.cover * (weights > 0 ? covered[at]! / weights : 0));
    score += RANK.conn * (connectionScore.get(connection) ?? 0);
    score *= 1 + RANK.named * (query.named.get(connection) ?? 0);
    final.set(at, score);
  }
  const compare = (a: number, b: number) =>
    (exact.get(b) ?? 0) - (exact.get(a) ?? 0) || final.get(b)! - final.get(a)! || a - b;
  candidates.sort(compare);
  const top = candidates.length > 0 ? Math.max(...candidates.slice(0, 50).map((at) => final.get(at)!)) : 0;

  const groups = new Map<string, { lead: number; alsoIn: number[] }>();
  const leads: number[] = [];
  for (const at of candidates.slice(0, most * 4)) {
    if (!exact.has(at) && final.get(at)! < RANK.tail * top) continue;
    const document = index.documents[at]!;
    const key = `${document.action}\0${document.schemaHash}`;
    const group = groups.get(key);
    if (group !== undefined) group.alsoIn.push(at);
    else {
      groups.set(key, { lead: at, alsoIn: [] });
      leads.push(at);
    }
  }
  // The same action of another connection comes after what is new, not beside its twin.
  const shown = new Map<string, number>();
  const penalised = leads.map((at) => {
    const key = splitWords(index.documents[at]!.action).join(" ");
    const before = shown.get(key) ?? 0;
    shown.set(key, before + 1);
    return { at, score: final.get(at)! * (before > 0 && !exact.has(at) ? 1 - RANK.sibling : 1) };
  });
  penalised.sort((a, b) => (exact.get(b.at) ?? 0) - (exact.get(a.at) ?? 0) || b.score - a.score || a.at - b.at);
  return penalised.slice(0, most).map(({ at }) => {
    const document = index.documents[at]!;
    const terms = index.termsOf(at);
    const matched = query.words.filter((word) => word.alternatives.some(({ term }) => terms.has(term)));
    return {
      document: at,
      // Saturating, so that it stays below 1 and keeps the order.
      score: exact.get(at) === 2 ? 1 : final.get(at)! / (final.get(at)! + 0.3 * possible || 1),
      exact: exact.has(at),
      matched: matched.map(({ word }) => word),
      coverage: weights > 0 ? matched.reduce((sum, word) => sum + word.weight, 0) / weights : 0,
      alsoIn: groups.get(`${document.action}\0${document.schemaHash}`)!.alsoIn,
    };
  });
}

/**
 * Documents whose name, action or title the query is (2) or holds as a run of at least two words (1). A model that
 * knows the name must get the tool, whatever the words weigh.
 */
function exactMatches(index: SearchIndex, text: string): Map<number, number> {
  const words = splitWords(text);
  const whole = words.join(" ");
  const line = ` ${whole} `;
  const matches = new Map<number, number>();
  if (whole === "") return matches;
  for (const [at, names] of exactNames(index).entries()) {
    for (const name of names) {
      if (name === whole) matches.set(at, 2);
      else if (!matches.has(at) && name.includes(" ") && line.includes(` ${name} `)) matches.set(at, 1);
    }
  }
  return matches;
}

const nameCache = new WeakMap<SearchIndex, string[][]>();

function exactNames(index: SearchIndex): string[][] {
  let names = nameCache.get(index);
  if (names === undefined) {
    names = index.documents.map((document) =>
      [document.name, document.action, document.title ?? ""].map((name) => splitWords(name).join(" ")).filter(Boolean),
    );
    nameCache.set(index, names);
  }
  return names;
}
