/** Pages of a list: cursors are opaque, name the last item, and hold on any replica. */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

const PAGE = 500;

/**
 * One page of a sorted list. `cursor` is the caller's; undefined or "" means the beginning.
 * @throws ProtocolError -32602 for a cursor that was not given out
 */
export function page<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  cursor: unknown,
): { items: T[]; nextCursor?: string } {
  let from = 0;
  if (cursor !== undefined && cursor !== "") {
    const after = typeof cursor === "string" ? decode(cursor) : undefined;
    const at = after === undefined ? -1 : items.findIndex((item) => keyOf(item) === after);
    if (at < 0)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown cursor; list again from the beginning");
    from = at + 1;
  }
  const shown = items.slice(from, from + PAGE);
  const last = shown.at(-1);
  if (last === undefined || from + PAGE >= items.length) return { items: shown };
  return { items: shown, nextCursor: encode(keyOf(last)) };
}

const encode = (key: string) => Buffer.from(`after:${key}`).toString("base64url");

function decode(cursor: string): string | undefined {
  const text = Buffer.from(cursor, "base64url").toString();
  return text.startsWith("after:") ? text.slice("after:".length) : undefined;
}
