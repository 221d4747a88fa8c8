/** Lists in parts: `?limit=` and the `cursor` of the part before. */
import { z } from "zod";
import { inputProblem } from "./route.ts";

const LONGEST = 200;
const USUAL = 50;

/** For the `query` of a route that answers with a page. */
export const pageQuery = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(LONGEST)
    .default(USUAL)
    .meta({ description: `How many, at most ${LONGEST}.` }),
  cursor: z.string().max(400).optional().meta({ description: "`nextCursor` of the page before." }),
};

/** A page of items; `nextCursor` is null on the last one. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() });
}

/** The key after which a page begins; undefined for the first. Throws `invalid_input`. */
export function afterOf(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const key = Buffer.from(cursor, "base64url").toString("utf8");
  if (key !== "" && Buffer.from(key).toString("base64url") === cursor) return key;
  throw inputProblem([{ field: "query.cursor", message: "is none of this list" }]);
}

/**
 * Cuts a page out of rows that were read in the order of their key, from the cursor on.
 * @param rows one more than `limit`, where there are so many
 */
export function pageFrom<T>(rows: readonly T[], limit: number, keyOf: (row: T) => string) {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, nextCursor: more ? Buffer.from(keyOf(last)).toString("base64url") : null };
}

/** The same for a list that is in memory as a whole, in the order of its key (compared by code units). */
export function pageOfAll<T>(
  all: readonly T[],
  { limit, cursor }: { limit: number; cursor?: string | undefined },
  keyOf: (row: T) => string,
) {
  const after = afterOf(cursor);
  const rest = after === undefined ? all : all.filter((row) => keyOf(row) > after);
  return pageFrom(rest.slice(0, limit + 1), limit, keyOf);
}
