/** `pair` and `<connection>__pair`: a packet that the user pasted becomes an account. The packet itself is kept nowhere. */
import type { JsonObject } from "../../../adapters/contract.ts";
import type { ServedConnection } from "../../connections/types.ts";
import { ERRORS, type ErrorCode } from "../../errors.ts";
import { describeCaller } from "../../gateway/call-events.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { authorizationRequired, failure } from "../../gateway/results.ts";
import { missingScope, scopeRefused } from "../../gateway/step-up.ts";
import type { AuditEvent, AuditOutcome } from "../../observe/audit.ts";
import type { PairingOutcome } from "../../signin/pairing.ts";
import type { Face } from "../face.ts";
import { chooseConnection, listOf } from "./pair-choice.ts";

/** What operators look for in the audit: somebody had a packet and nothing here could take it. */
const UNAVAILABLE = "connection.pairing_unavailable";

export interface PairCall {
  readonly caller: GatewayCaller;
  /** The tool that was called. */
  readonly name: string;
  readonly args: unknown;
  /** The connection of a `<connection>__pair`. */
  readonly only?: ServedConnection;
}

/** Redeems the packet for the named connection, or for the only one that can be paired. */
export async function runPair(face: Face, { caller, name, args, only }: PairCall): Promise<JsonObject> {
  const { audit, clock } = face.gateway;
  const started = clock();
  const given: JsonObject = typeof args === "object" && args !== null ? { ...args } : {};
  const { packet } = given;
  const wanted = only?.slug ?? given["connection"];
  if (typeof packet !== "string" || packet.trim() === "") {
    return failure("invalid_arguments", `${name} needs "packet": the whole text that the user pasted.`);
  }
  if (wanted !== undefined && typeof wanted !== "string") {
    return failure("invalid_arguments", "connection is the id of a connection, as tool_search shows it.");
  }
  const event = (connection?: ServedConnection): Omit<AuditEvent, "decision"> => ({
    ...describeCaller(caller, "by_name"),
    toolName: name,
    class: "write",
    argumentsDigest: face.pairing.digest(packet),
    ...(connection ? { connectionId: connection.id, connectionSlug: connection.slug } : {}),
  });
  const refused = (code: ErrorCode, rule: string, reason: string, more: Partial<AuditEvent> = {}) =>
    audit.refused({
      ...event(),
      ...more,
      decision: "refuse",
      rule,
      reason,
      outcomeCode: code,
      durationMs: clock() - started,
    });

  const choice = await chooseConnection(face.pairing, caller, wanted);
  if (choice.kind === "unavailable") {
    const about = choice.connection ? event(choice.connection) : {};
    refused("pairing_unavailable", "pairing", choice.reason, { ...about, action: UNAVAILABLE });
    face.log.warn({ event: UNAVAILABLE, connection: choice.connection?.slug, reason: choice.reason }, UNAVAILABLE);
    const text = `${ERRORS.pairing_unavailable.text} ${choice.reason} Ask an administrator to set the account up.`;
    return failure("pairing_unavailable", text);
  }
  if (!caller.principal.scopes.has("mcp:pair")) {
    refused("scope_refused", "scope", "the token has no scope mcp:pair");
    return scopeRefused(missingScope(face.gateway.stepUp, caller.principal, "mcp:pair"), { tool: name });
  }
  if (choice.kind === "several") {
    const slugs = listOf(choice.slugs.map((slug) => ({ slug })));
    return failure("invalid_arguments", `Several connections can be paired: ${slugs}. Name one as "connection".`);
  }
  const { connection } = choice;
  if (choice.kind === "not_allowed") {
    refused("authorization_required", "accounts", "needs connections:write", event(connection));
    return authorizationRequired(connection, {
      text: `The account of ${connection.label} belongs to everyone who uses it. Someone who may change connections (an administrator, connections:write) must pair it.`,
    });
  }

  const handle = await audit.begin({ ...event(connection), decision: "allow", rule: "pairing" });
  const finish = (outcome: AuditOutcome["outcome"], outcomeCode?: string) =>
    audit.finish(handle, { outcome, durationMs: clock() - started, ...(outcomeCode ? { outcomeCode } : {}) });
  let outcome: PairingOutcome;
  try {
    outcome = await face.pairing.redeem(connection, caller.principal, packet);
  } catch (error) {
    await finish("outcome_unknown", "internal");
    throw error;
  }
  face.log.info({ connection: connection.slug, outcome: outcome.kind }, "a packet was redeemed, or not");
  return told(connection, outcome, finish);
}

type Finish = (outcome: AuditOutcome["outcome"], code?: string) => Promise<void>;

async function told(connection: ServedConnection, outcome: PairingOutcome, finish: Finish): Promise<JsonObject> {
  const { label, slug } = connection;
  const where = { connection: slug };
  switch (outcome.kind) {
    case "paired":
      await finish("ok");
      return paired(connection, outcome);
    case "used":
      await finish("refused", "packet_used");
      return failure("packet_used", ERRORS.packet_used.text, where);
    case "wrong":
      await finish("refused", "packet_invalid");
      return failure("packet_invalid", `${ERRORS.packet_invalid.text} ${outcome.reason}`, where);
    case "unsent":
      await finish("error", "pairing_failed");
      return failure(
        "pairing_failed",
        `${label}: ${outcome.reason} Nothing was sent: the same packet can be tried again.`,
        where,
      );
    case "refused":
      await finish("tool_error", "pairing_failed");
      return failure(
        "pairing_failed",
        `${label} was not paired. ${outcome.reason} Ask the service for a new packet.`,
        where,
      );
    case "unknown":
      await finish("outcome_unknown", "pairing_failed");
      return failure(
        "pairing_failed",
        `${label} was not paired: ${outcome.reason} The packet may be spent. Ask the service for a new one.`,
        where,
      );
  }
}

function paired(
  { label, slug }: ServedConnection,
  { scope, health }: Extract<PairingOutcome, { kind: "paired" }>,
): JsonObject {
  const granted = scope === undefined ? "The service named no scope." : `Granted scope: ${scope}.`;
  const tested =
    health.state === "healthy"
      ? "Its test succeeded."
      : `The account is kept, but its test failed: ${health.message ?? health.code ?? "no reason given"}`;
  return {
    content: [{ type: "text", text: `${label} is paired. ${granted} ${tested}` }],
    structuredContent: { status: "paired", connection: slug, ...(scope === undefined ? {} : { scope }), health },
  };
}
