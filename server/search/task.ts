/**
 * Several queries of one call are steps of one task. Steps tend to need the same service, so that a connection which is
 * the best answer to one step speaks for its tools in the others ("click the button" after "open the page in a
 * browser"). The hits of the steps are then merged by turns.
 */
import { type Confidence, type Judgement, judge } from "./confidence.ts";
import type { SearchIndex } from "./index.ts";
import { type Hit, order, score } from "./rank.ts";

/** Lift of a connection in one step for being the best answer to another. */
const SHARED = 0.35;
/** Hits of a step that cannot be trusted. */
const SHOWN_WHEN_UNSURE = 3;

export interface TaskHit {
  readonly hit: Hit;
  /** Number of the step that it serves. */
  readonly query: number;
}

export interface TaskRanking {
  /** By turns, each step's best first; a tool only once. */
  readonly hits: readonly TaskHit[];
  /** One per step. */
  readonly judgements: readonly Judgement[];
}

/** Ranks each query and merges; `admits` narrows before anything is cut, `most` bounds the hits of a step. */
export function rankTask(
  index: SearchIndex,
  queries: readonly string[],
  { admits, most }: { admits: (document: number) => boolean; most: number },
): TaskRanking {
  const scored = queries.map((query) => score(index, query, admits));
  const bests = scored.map((step) => {
    const best = order(index, step, 1).hits[0];
    return best === undefined ? undefined : index.documents[best.document]!.connection;
  });
  const judgements: Judgement[] = [];
  const lists = scored.map((step, at) => {
    const lifts = new Map<string, number>();
    bests.forEach((connection, other) => {
      if (other !== at && connection !== undefined) lifts.set(connection, SHARED);
    });
    const ranking = order(index, step, most, lifts);
    const judgement = judge(index, ranking);
    judgements.push(judgement);
    return judgement.confidence === "high" ? ranking.hits : ranking.hits.slice(0, SHOWN_WHEN_UNSURE);
  });
  return { hits: mergeByTurns(lists), judgements };
}

/** The confidence of the whole: one step that can be trusted is enough. */
export function bestConfidence(judgements: readonly Judgement[]): Confidence {
  return judgements.some(({ confidence }) => confidence === "high") ? "high" : "low";
}

/** Each list gives its next new hit in turn, so that each step gets its best tools whatever the others found. */
function mergeByTurns(lists: readonly (readonly Hit[])[]): TaskHit[] {
  const merged: TaskHit[] = [];
  const taken = new Set<number>();
  const next = lists.map(() => 0);
  for (let open = lists.length; open > 0; ) {
    open = 0;
    for (const [query, list] of lists.entries()) {
      while (next[query]! < list.length && taken.has(list[next[query]!]!.document)) next[query] = next[query]! + 1;
      const hit = list[next[query]!];
      if (hit === undefined) continue;
      open += 1;
      taken.add(hit.document);
      merged.push({ hit, query });
    }
  }
  return merged;
}
