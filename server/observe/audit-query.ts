/** Questions to the audit: filters, and pages that stay where they are while events are added. */
import { Op, type WhereOptions } from "sequelize";
import { encodeTime } from "ulid";
import type { Store } from "../store/database.ts";
import { type AuditEventRow, type AuditRecord, CHAIN_COLUMNS } from "../store/models/audit-events.ts";

/** Every condition given must hold. An empty list holds for nothing. */
export interface AuditFilter {
  organizationId?: string;
  /** Ids of people or agents. */
  subjects?: readonly string[];
  /** As people or agents were called when it happened. */
  principalName?: string;
  /** Ids of agent tokens, or of what people granted to clients. */
  tokenIds?: readonly string[];
  endpointId?: string;
  endpointSlug?: string;
  connectionId?: string;
  connectionSlug?: string;
  /** A tool's full name, or its beginning followed by `*`. */
  tool?: string;
  decision?: AuditEventRow["decision"];
  /** `outcome_unknown` also means what never ended. */
  outcome?: AuditEventRow["outcome"];
  /** The first moment that counts. */
  from?: Date;
  /** The first moment that counts no more. */
  to?: Date;
  /** Only what came after this event. */
  afterId?: string;
}

export interface AuditPage {
  /** How many events at most. */
  limit: number;
  order: "newest_first" | "oldest_first";
  /** Continue behind this event; `next` of the page before. */
  after?: string;
}

export interface AuditAnswer {
  /** A write that never ended reads `outcome_unknown`. */
  events: AuditRecord[];
  /** Where the next page begins; absent after the last event. */
  next?: string;
}

/** The columns of an answer. */
const EXCLUDED: string[] = [...CHAIN_COLUMNS];
/** Behind every character of a name. */
const LAST = "\u{10FFFF}";
const EXPORT_PAGE = 500;

/** One page of events. Their ids are ordered by time, so that an id says where a page ends. */
export async function queryAudit(store: Store, filter: AuditFilter, page: AuditPage): Promise<AuditAnswer> {
  const { limit, order, after } = page;
  const newestFirst = order === "newest_first";
  const conditions = conditionsOf(filter);
  if (after !== undefined) conditions.push({ id: newestFirst ? { [Op.lt]: after } : { [Op.gt]: after } });
  const rows = await store.models.auditEvents.findAll({
    attributes: { exclude: EXCLUDED },
    where: { [Op.and]: conditions },
    order: [["id", newestFirst ? "DESC" : "ASC"]],
    limit: limit + 1,
  });
  const events = rows.slice(0, limit).map((row) => asRead(row.get({ plain: true })));
  const next = rows.length > limit ? events.at(-1)?.id : undefined;
  return { events, ...(next !== undefined && { next }) };
}

/** All events that fit, oldest first, a page in memory at a time. */
export async function* eachAuditEvent(store: Store, filter: AuditFilter): AsyncGenerator<AuditRecord> {
  let after: string | undefined;
  do {
    const page = await queryAudit(store, filter, {
      limit: EXPORT_PAGE,
      order: "oldest_first",
      ...(after !== undefined && { after }),
    });
    yield* page.events;
    after = page.next;
  } while (after !== undefined);
}

/**
 * What a name stands for, as a filter: the id of a person or an agent, a person's username, an agent's name, or the
 * name that somebody had who is gone.
 */
export async function whoIs(store: Store, name: string, organizationId?: string): Promise<AuditFilter> {
  if (isUlid(name)) return { subjects: [name] };
  const people = await store.models.people.findAll({ where: { username: name } });
  const agents = await store.models.agents.findAll({
    where: { name, ...(organizationId !== undefined && { organizationId }) },
  });
  const subjects = [...people, ...agents].map(({ id }) => id);
  return subjects.length > 0 ? { subjects } : { principalName: name };
}

/** The tokens that a name stands for: a token's own id or name, or the id or name of a client that people signed in. */
export async function tokensOf(store: Store, name: string, organizationId?: string): Promise<readonly string[]> {
  if (isUlid(name)) return [name];
  const within = organizationId !== undefined && { organizationId };
  const tokens = await store.models.agentTokens.findAll({ where: { name, ...within } });
  const grants = await store.models.oauthGrants.findAll({
    where: { [Op.or]: [{ clientId: name }, { clientName: name }], ...within },
  });
  return [...tokens, ...grants].map(({ id }) => id);
}

function asRead(event: AuditEventRow): AuditRecord {
  return event.outcome === "open" ? { ...event, outcome: "outcome_unknown" } : event;
}

function conditionsOf(filter: AuditFilter): WhereOptions<AuditEventRow>[] {
  const { subjects, tokenIds, tool, outcome, from, to, afterId, ...exact } = filter;
  const conditions: WhereOptions<AuditEventRow>[] = [];
  for (const [name, value] of Object.entries(exact)) if (value !== undefined) conditions.push({ [name]: value });
  if (subjects !== undefined) conditions.push({ principalSubject: [...subjects] });
  if (tokenIds !== undefined) conditions.push({ tokenId: [...tokenIds] });
  if (tool !== undefined) conditions.push({ toolName: named(tool) });
  if (outcome !== undefined) conditions.push({ outcome: outcome === "outcome_unknown" ? [outcome, "open"] : outcome });
  // An id is never older than its event: with this the events before need not be looked at.
  if (from !== undefined) conditions.push({ at: { [Op.gte]: from }, id: { [Op.gte]: firstIdOf(from) } });
  if (to !== undefined) conditions.push({ at: { [Op.lt]: to } });
  if (afterId !== undefined) conditions.push({ id: { [Op.gt]: afterId } });
  return conditions;
}

/** Not LIKE, in which `_` is any character and which ignores case in SQLite: columns compare byte by byte. */
function named(pattern: string): string | { [Op.gte]: string; [Op.lt]: string } {
  if (!pattern.endsWith("*")) return pattern;
  const beginning = pattern.slice(0, -1);
  return { [Op.gte]: beginning, [Op.lt]: `${beginning}${LAST}` };
}

function firstIdOf(moment: Date): string {
  return `${encodeTime(Math.max(0, moment.getTime()), 10)}${"0".repeat(16)}`;
}

/** Whether a text has the form of an id. */
export function isUlid(text: string): boolean {
  return /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text);
}
