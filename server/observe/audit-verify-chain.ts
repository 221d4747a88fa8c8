/** Verifies the links of one chain, in order, a page in memory at a time. */
import { Op } from "sequelize";
import type { Store } from "../store/database.ts";
import type { AuditEventRow } from "../store/models/audit-events.ts";
import { asInserted, BEGINNING, endHash, eventHash } from "./audit-chain.ts";
import { type ChainState, range } from "./audit-verify-checkpoints.ts";

export type NamedChain = Pick<ChainState, "key" | "sequence" | "hash"> & { readonly chainId: string };

interface Link {
  readonly sequence: number;
  readonly previousHash: string | null;
  readonly hash: string | null;
  /** What the hash must be. */
  readonly expected: string;
  readonly eventId: string;
  readonly what: "event" | "outcome of event";
}

const PAGE = 500;

/**
 * Verifies a chain up to the link that was its last one when this began.
 * @param report takes one line for each break: a changed link, a run of missing ones, links in another order
 * @returns how many events it read
 */
export async function verifyChain(
  store: Store,
  chain: NamedChain,
  report: (line: string) => Promise<void>,
): Promise<number> {
  const { chainId } = chain;
  const say = (line: string) => report(`chain ${chainId}: ${line}`);
  // Links are committed in order: up to here all are there, and what is written meanwhile is left for the next time.
  const end = await lastLink(store, chainId);
  let next = 1;
  let before: string | undefined = BEGINNING;
  let events = 0;
  for await (const link of inOrder(eventLinks(store, chain), endLinks(store, chain))) {
    const { sequence, eventId, what } = link;
    if (sequence > end) break;
    if (what === "event") events += 1;
    if (sequence > next) {
      await say(`${range("link", next, sequence - 1)} missing`);
      before = undefined;
    }
    const intact = link.hash === link.expected;
    if (sequence < next) await say(`link ${sequence} is there twice (event ${eventId})`);
    else if (!intact) await say(`link ${sequence}: the ${what} ${eventId} is not as it was written`);
    else if (before !== undefined && link.previousHash !== before) {
      await say(`link ${sequence}: the ${what} ${eventId} does not follow the link before it`);
    } else if (sequence === chain.sequence && link.hash !== chain.hash) {
      await say(`link ${sequence}: the ${what} ${eventId} is not the one its checkpoint names`);
    }
    // After a break the next link is held to its own hash only, so that one break is told once.
    before = intact ? link.expected : undefined;
    next = Math.max(next, sequence + 1);
  }
  if (next <= chain.sequence) await say(`${range("link", next, chain.sequence)} missing`);
  return events;
}

/** Verifies what is left of a chain that the retention cut: each link by itself. */
export async function verifyLeftovers(
  store: Store,
  chain: NamedChain,
  report: (line: string) => void,
): Promise<number> {
  let events = 0;
  for await (const { sequence, hash, expected, eventId, what } of inOrder(
    eventLinks(store, chain),
    endLinks(store, chain),
  )) {
    if (what === "event") events += 1;
    if (hash === expected && sequence <= chain.sequence) continue;
    report(`chain ${chain.chainId}: link ${sequence}: the ${what} ${eventId} is not as it was written`);
  }
  return events;
}

/** The number of a chain's last link; 0 where it has none. */
async function lastLink(store: Store, chainId: string): Promise<number> {
  const last = async (column: "sequence" | "endSequence") => {
    const row = await store.models.auditEvents.findOne({ where: { chainId }, order: [[column, "DESC"]] });
    return row?.[column] ?? 0;
  };
  return Math.max(await last("endSequence"), await last("sequence"));
}

async function* eventLinks(store: Store, { chainId, key }: NamedChain): AsyncGenerator<Link> {
  for await (const row of eachRow(store, chainId, "sequence")) {
    const { id, sequence, previousHash, hash } = row;
    if (sequence === null) return;
    const place = { chainId, sequence, previousHash: previousHash ?? "" };
    const expected = eventHash(key, place, asInserted(row));
    yield { sequence, previousHash, hash, expected, eventId: id, what: "event" };
  }
}

async function* endLinks(store: Store, { chainId, key }: NamedChain): AsyncGenerator<Link> {
  for await (const row of eachRow(store, chainId, "endSequence")) {
    const { id, endSequence: sequence, endPreviousHash: previousHash, endHash: hash } = row;
    if (sequence === null) return;
    const place = { chainId, sequence, previousHash: previousHash ?? "" };
    yield {
      sequence,
      previousHash,
      hash,
      expected: endHash(key, place, id, row),
      eventId: id,
      what: "outcome of event",
    };
  }
}

async function* eachRow(
  store: Store,
  chainId: string,
  column: "sequence" | "endSequence",
): AsyncGenerator<AuditEventRow> {
  for (let after = -1; ; ) {
    const rows = await store.models.auditEvents.findAll({
      where: { chainId, [column]: { [Op.gt]: after } },
      order: [[column, "ASC"]],
      limit: PAGE,
    });
    for (const row of rows) yield row.get({ plain: true });
    const last = rows.at(-1)?.[column];
    if (last === undefined || last === null) return;
    after = last;
  }
}

/** Two ordered streams as one. */
async function* inOrder(left: AsyncGenerator<Link>, right: AsyncGenerator<Link>): AsyncGenerator<Link> {
  let [a, b] = [await left.next(), await right.next()];
  while (!a.done || !b.done) {
    if (!a.done && (b.done || a.value.sequence <= b.value.sequence)) {
      yield a.value;
      a = await left.next();
    } else if (!b.done) {
      yield b.value;
      b = await right.next();
    }
  }
}
