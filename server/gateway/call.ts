/**
 * The one pipeline of a tool call, from the resolved name to the answer (design section 4, steps 3 to 10).
 * Every door enters here.
 */

import {
  type CallContext,
  type JsonObject,
  type Log,
  type Outcome,
  UpstreamError,
  UpstreamRpcError,
} from "../../adapters/contract.ts";
import { adapterFor } from "../../adapters/index.ts";
import { decide } from "../access/decide.ts";
import type { AssetKeeper } from "../assets/assets.ts";
import type { ConnectionSessions } from "../connections/sessions.ts";
import { ERRORS, type ErrorCode, JackfieldError } from "../errors.ts";
import type { Audit, AuditEvent, AuditOutcome } from "../observe/audit.ts";
import { redactText } from "../observe/redact.ts";
import type { Schemas } from "./arguments.ts";
import type { AuthorizationNeed, Authorizations } from "./authorization.ts";
import { assetOwner, type Door, type GatewayCaller } from "./caller.ts";
import { type DurableParts, durable } from "./durable.ts";
import { inlineFiles } from "./inline-files.ts";
import { keepLarge } from "./keep-large.ts";
import { restoreArguments } from "./portable-schema.ts";
import { resolveTool } from "./resolve.ts";
import { authorizationRequired, deliver, failure, failureOf, forLegacy } from "./results.ts";
import type { ToolEntry } from "./toolset.ts";

export interface Gateway extends DurableParts {
  readonly schemas: Schemas;
  readonly sessions: ConnectionSessions;
  readonly authorizations: Authorizations;
  /** The files that are kept for callers. */
  readonly assets: AssetKeeper;
  readonly audit: Audit;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds of silence, and in all, after which an upstream is given up. */
  readonly timeouts: { readonly callMs: number; readonly maxMs: number };
}

/** How the caller can be reached during the call; the era of its connection stays behind this. */
export type Reach = Omit<CallContext, "timeoutMs" | "maxTimeoutMs" | "assets" | "tasks" | "assertion">;

export interface ToolCall {
  readonly caller: GatewayCaller;
  readonly door: Door;
  readonly name: string;
  readonly args: unknown;
  /** Made once the tool is known, because what may be asked and forwarded depends on its connection. */
  readonly reach: (entry: ToolEntry) => Reach;
}

/**
 * Runs one call. Refusals and upstream failures are results with `isError`.
 * @throws JackfieldError `unknown_tool`; UpstreamRpcError at a transparent endpoint, which relays it as it is.
 */
export async function callTool(gateway: Gateway, call: ToolCall): Promise<Outcome> {
  const started = gateway.clock();
  const entry = resolveOrRecord(gateway, call, started);
  const refuse = (code: ErrorCode, text: string, rule: string, reason: string, args?: JsonObject): Outcome => {
    gateway.audit.refused({
      ...describe(call, entry, args && gateway.audit.digest(args)),
      decision: "refuse",
      rule,
      reason,
      outcomeCode: code,
      durationMs: gateway.clock() - started,
    });
    return asResult(failure(code, text, { tool: entry.name }));
  };

  if (entry.tool.state !== "approved") {
    return refuse("tool_changed", ERRORS.tool_changed.text, "review", `definition is ${entry.tool.state}`);
  }
  if (call.door === "tool_read" && entry.class !== "read") {
    return refuse(
      "class_refused",
      `${entry.name} can change things. ${ERRORS.class_refused.text}`,
      "door",
      "write tool through tool_read",
    );
  }

  const given = call.args ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    return refuse("invalid_arguments", "Arguments must be a JSON object.", "schema", "arguments are not an object");
  }
  const restored = restoreArguments({ ...given }, entry.restore);
  const { definition } = entry.tool;
  const problem = gateway.schemas.problem(`${entry.tool.hash}:input`, definition.inputSchema, restored);
  if (problem && !call.caller.toolset.transparent) {
    const text = `${ERRORS.invalid_arguments.text} ${problem}. See the schema with tool_search {"query": "select:${entry.name}"}.`;
    return refuse("invalid_arguments", text, "schema", problem, restored);
  }
  const { args } = adapterFor(entry.connection.type)?.prepare(definition, restored) ?? { args: restored };

  const decision = decide({
    tool: {
      name: entry.name,
      action: entry.action,
      class: entry.class,
      state: entry.tool.state,
      approval: entry.approval,
    },
    grant: entry.grant,
    args,
    variables: call.caller.principal.variables,
    scopes: call.caller.principal.scopes,
    door: call.door,
    upstreamNames: entry.restore,
  });
  if (decision.kind === "refuse")
    return refuse(
      decision.code,
      `${ERRORS[decision.code].text} ${decision.reason}`,
      decision.rule,
      decision.reason,
      args,
    );
  if (decision.kind === "needs_approval") {
    const text = `${ERRORS.approval_required.text} Approvals cannot be given on this server yet, so ${entry.name} cannot be called.`;
    return refuse("approval_required", text, decision.rule, decision.reason, args);
  }
  const need = await gateway.authorizations.need(entry.connection, call.caller.principal);
  if (need) return refuseUnauthorized(gateway, call, entry, args, need, started);
  return run(gateway, call, entry, args, decision.rule, started);
}

/** Step 7 without a credential: nothing has reached the service. */
function refuseUnauthorized(
  gateway: Gateway,
  call: ToolCall,
  entry: ToolEntry,
  args: JsonObject,
  need: AuthorizationNeed,
  started: number,
): Outcome {
  gateway.audit.refused({
    ...describe(call, entry, gateway.audit.digest(args)),
    decision: "refuse",
    rule: "credential",
    reason: need.url ? "no account yet; a sign-in page was offered" : "no credential yet",
    outcomeCode: "authorization_required",
    durationMs: gateway.clock() - started,
  });
  return asResult(authorizationRequired(entry.connection, need));
}

/** Steps 8 to 10: the adapter between the two audit rows. */
async function run(
  gateway: Gateway,
  call: ToolCall,
  entry: ToolEntry,
  args: JsonObject,
  rule: string,
  started: number,
): Promise<Outcome> {
  const { connection } = entry;
  const event: AuditEvent = { ...describe(call, entry, gateway.audit.digest(args)), decision: "allow", rule };
  // A write's intent is committed before the adapter acts, so that a crash leaves a trace that reads outcome_unknown.
  const handle = entry.class === "write" ? await gateway.audit.begin(event) : undefined;
  const close = async (outcome: AuditOutcome["outcome"], outcomeCode?: string) => {
    const ending = { outcome, durationMs: gateway.clock() - started, ...(outcomeCode ? { outcomeCode } : {}) };
    if (handle) await gateway.audit.finish(handle, ending);
    else gateway.audit.record({ ...event, ...ending });
  };
  const reach = call.reach(entry);
  const assets = gateway.assets.of(assetOwner(call.caller), connection.id);
  try {
    const sent = await inlineFiles(args, entry.tool.definition.inputSchema, assets);
    const outcome = await gateway.sessions.use(connection, call.caller.principal.key, (session) =>
      session.callTool(entry.action, sent, {
        ...reach,
        assets,
        ...limits(gateway, reach),
        ...durable(gateway, connection, call.caller),
      }),
    );
    if (outcome.kind === "input_required") {
      await close("ok", "input_required");
      return outcome;
    }
    const result = await keepLarge(outcome.result, { entry, assets, caller: call.caller, log: gateway.log });
    const delivered = deliver(result, entry, call.caller.toolset.transparent, gateway.schemas);
    await close(delivered["isError"] === true ? "tool_error" : "ok");
    return asResult(call.caller.era === "legacy" ? forLegacy(delivered) : delivered);
  } catch (error) {
    if (reach.signal.aborted) {
      await close("cancelled");
      return asResult(failure("cancelled", ERRORS.cancelled.text));
    }
    if (error instanceof UpstreamRpcError && call.caller.toolset.transparent) {
      await close("tool_error", `rpc ${error.rpcCode}`);
      throw error;
    }
    const need = isAuthorizationRequired(error)
      ? await gateway.authorizations.need(connection, call.caller.principal, error)
      : undefined;
    if (need) {
      // The account ended during the call: the service refused the credential, so it did not act.
      await close("error", "authorization_required");
      return asResult(authorizationRequired(connection, need));
    }
    const lost =
      entry.class === "write" &&
      error instanceof UpstreamError &&
      error.processed === "unknown" &&
      LOSES.has(error.code);
    const told = failureOf(error, connection);
    gateway.log.warn(
      { connection: connection.slug, tool: entry.name, code: told.code, reason: reasonOf(error) },
      "a call failed upstream",
    );
    await close(lost ? "outcome_unknown" : "error", told.code);
    if (!lost) return asResult(told.result);
    const text = `${ERRORS.outcome_unknown.text} ${error.message}`;
    return asResult(failure("outcome_unknown", text, { connection: connection.slug, cause: told.code }));
  }
}

function isAuthorizationRequired(error: unknown): error is JackfieldError {
  return error instanceof JackfieldError && error.code === "authorization_required";
}

/** A call during which a person may be asked must outlast the person's thinking. */
function limits(gateway: Gateway, reach: Reach): { timeoutMs: number; maxTimeoutMs: number } {
  const { callMs, maxMs } = gateway.timeouts;
  return { timeoutMs: reach.ask ? maxMs : callMs, maxTimeoutMs: maxMs };
}

/** After these the upstream may have acted without our hearing of it. */
const LOSES: ReadonlySet<string> = new Set([
  "upstream_timeout",
  "upstream_died",
  "upstream_unreachable",
  "upstream_protocol",
  "upstream_status",
]);

function resolveOrRecord(gateway: Gateway, call: ToolCall, started: number): ToolEntry {
  try {
    return resolveTool(call.caller.toolset, call.name);
  } catch (error) {
    gateway.audit.refused({
      ...describeCaller(call.caller, call.door),
      toolName: redactText(call.name).slice(0, 128),
      decision: "refuse",
      rule: "visibility",
      reason: "no visible tool has this name",
      outcomeCode: error instanceof JackfieldError ? error.code : "internal",
      durationMs: gateway.clock() - started,
    });
    throw error;
  }
}

function describe(call: ToolCall, entry: ToolEntry, digest: string | undefined): Omit<AuditEvent, "decision"> {
  return {
    ...describeCaller(call.caller, call.door),
    connectionId: entry.connection.id,
    connectionSlug: entry.connection.slug,
    toolName: entry.tool.name,
    action: entry.action,
    class: entry.class,
    ...(digest ? { argumentsDigest: digest } : {}),
  };
}

/** The part of an audit event that says who called through which door. */
export function describeCaller(caller: GatewayCaller, door: Door): Omit<AuditEvent, "decision"> {
  const { principal, endpoint } = caller;
  return {
    organizationId: principal.organizationId,
    environmentId: endpoint.environmentId,
    endpointId: endpoint.id,
    endpointSlug: endpoint.slug,
    principalKind: principal.kind,
    principalIssuer: principal.issuer,
    principalSubject: principal.subject,
    principalName: principal.name,
    tokenId: principal.tokenId,
    clientKey: principal.clientKey,
    door,
    era: caller.era,
    ...(caller.traceId ? { traceId: caller.traceId } : {}),
  };
}

const asResult = (result: JsonObject): Outcome => ({ kind: "result", result });

function reasonOf(error: unknown): string {
  if (error instanceof UpstreamError) return error.detail ?? error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
