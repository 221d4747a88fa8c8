/** The flags with which the audit commands choose events, and how they print them. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { type AuditFilter, isUlid, tokensOf, whoIs } from "../observe/audit-query.ts";
import type { Store } from "../store/database.ts";
import { AUDIT_OUTCOMES, type AuditRecord, DECISIONS } from "../store/models/audit-events.ts";
import type { CliIo } from "./io.ts";
import { parseSpan } from "./options.ts";
import { oneLine, printTable } from "./output.ts";
import { organizationOf } from "./tokens.ts";

export interface FilterOptions {
  organization?: string;
  person?: string;
  client?: string;
  endpoint?: string;
  connection?: string;
  tool?: string;
  decision?: AuditRecord["decision"];
  outcome?: AuditRecord["outcome"];
  from?: Date;
  to?: Date;
}

/** Adds the flags to a command. */
export function withFilter(command: Command): Command {
  return command
    .option("--organization <slug>", "only of this organization")
    .option("--person <name>", "who called: a person's username or id, an agent's name or id")
    .option("--client <name>", "with what: a token's name or id, or the name or id of a client that people signed in")
    .option("--endpoint <slug>", "at which endpoint (slug or id)")
    .option("--connection <slug>", "of which connection (slug or id)")
    .option("--tool <name>", "which tool; a name may end in *")
    .addOption(new Option("--decision <decision>", "what was decided").choices([...DECISIONS]))
    .addOption(
      new Option("--outcome <outcome>", "how it ended").choices(AUDIT_OUTCOMES.filter((one) => one !== "open")),
    )
    .option("--from <moment>", "from then on: a date, a time, or a span back from now such as 24h", parseMoment)
    .option("--to <moment>", "before then", parseMoment);
}

/** What the flags mean. Throws `not_found` for an organization that does not exist. */
export async function filterOf(store: Store, options: FilterOptions): Promise<AuditFilter> {
  const { organization, person, client, endpoint, connection, tool, decision, outcome, from, to } = options;
  const organizationId = organization === undefined ? undefined : (await organizationOf(store, organization)).id;
  return {
    ...(organizationId !== undefined && { organizationId }),
    ...(person !== undefined && (await whoIs(store, person, organizationId))),
    ...(client !== undefined && { tokenIds: await tokensOf(store, client, organizationId) }),
    ...(endpoint !== undefined && (isUlid(endpoint) ? { endpointId: endpoint } : { endpointSlug: endpoint })),
    ...(connection !== undefined &&
      (isUlid(connection) ? { connectionId: connection } : { connectionSlug: connection })),
    ...(tool !== undefined && { tool }),
    ...(decision !== undefined && { decision }),
    ...(outcome !== undefined && { outcome }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

/** Events for people: a line each under a header. */
export function printEvents(io: CliIo, events: readonly AuditRecord[], empty: string): void {
  printTable(
    io,
    ["AT", "WHO", "ENDPOINT", "TOOL", "CLASS", "DECISION", "OUTCOME", "MS"],
    events.map((event) => [
      event.at.toISOString(),
      oneLine(event.principalName, 24),
      event.endpointSlug ?? "-",
      oneLine(event.toolName ?? event.door, 48),
      event.class ?? "-",
      event.rule ? `${event.decision} (${oneLine(event.rule, 40)})` : event.decision,
      event.outcomeCode ? `${event.outcome} (${event.outcomeCode})` : event.outcome,
      String(event.durationMs ?? "-"),
    ]),
    empty,
  );
}

/** One object to a line. */
export function printJsonLines(io: CliIo, events: readonly AuditRecord[]): void {
  for (const event of events) io.out(`${JSON.stringify(event)}\n`);
}

const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;

/** `2026-11-30` (midnight UTC), `2026-11-30T08:00Z`, or a span such as `24h` back from now. A time without a zone is UTC. */
export function parseMoment(text: string): Date {
  if (MOMENT.test(text)) {
    const zoned = /T.*(?:Z|[+-]\d{2}:\d{2})$/.test(text) || !text.includes("T");
    const date = new Date(zoned ? text : `${text}Z`);
    if (!Number.isNaN(date.getTime())) return date;
  }
  if (/^\d+[smhdwy]$/.test(text)) return new Date(Math.max(0, Date.now() - parseSpan(text)));
  throw new InvalidArgumentError("Give a date such as 2026-11-30 or 2026-11-30T08:00Z, or a span such as 24h.");
}
