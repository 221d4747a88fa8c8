/** Steps 7 to 10 of a call: the adapter, between what the audit says before and after. */
import { type JsonObject, type Outcome, UpstreamError, UpstreamRpcError } from "../../adapters/contract.ts";
import { ERRORS, JackfieldError } from "../errors.ts";
import type { AuditEvent, AuditOutcome } from "../observe/audit.ts";
import type { ApprovalUse } from "./approvals/stage.ts";
import type { AuthorizationNeed } from "./authorization.ts";
import type { CallOutcome, Gateway, Reach, ToolCall } from "./call.ts";
import { describeCall } from "./call-events.ts";
import { assetOwner } from "./caller.ts";
import { durable } from "./durable.ts";
import { inlineFiles } from "./inline-files.ts";
import { keepLarge } from "./keep-large.ts";
import { authorizationRequired, deliver, failure, failureOf, forLegacy } from "./results.ts";
import type { ToolEntry } from "./toolset.ts";

/** Step 7 without a credential: nothing has reached the service. */
export function refuseUnauthorized(
  gateway: Gateway,
  call: ToolCall,
  entry: ToolEntry,
  args: JsonObject,
  need: AuthorizationNeed,
  started: number,
): Outcome {
  gateway.audit.refused({
    ...describeCall(call, entry, gateway.audit.digest(args)),
    decision: "refuse",
    rule: "credential",
    reason: need.url ? "no account yet; a sign-in page was offered" : "no credential yet",
    outcomeCode: "authorization_required",
    durationMs: gateway.clock() - started,
  });
  return asResult(authorizationRequired(entry.connection, need));
}

/** Steps 8 to 10: the adapter between the two audit rows. */
export async function run(
  gateway: Gateway,
  call: ToolCall,
  entry: ToolEntry,
  { args, rule, reach, use }: { args: JsonObject; rule: string; reach: Reach; use?: ApprovalUse },
  started: number,
): Promise<CallOutcome> {
  const { connection } = entry;
  const event: AuditEvent = { ...describeCall(call, entry, gateway.audit.digest(args)), decision: "allow", rule };
  // A write's intent is committed before the adapter acts, so that a crash leaves a trace that reads outcome_unknown.
  const handle = entry.class === "write" ? await gateway.audit.begin(event) : undefined;
  const close = async (outcome: AuditOutcome["outcome"], outcomeCode?: string) => {
    const ending = { outcome, durationMs: gateway.clock() - started, ...(outcomeCode ? { outcomeCode } : {}) };
    if (handle) await gateway.audit.finish(handle, ending);
    else gateway.audit.record({ ...event, ...ending });
  };
  const assets = gateway.assets.of(assetOwner(call.caller), connection.id);
  try {
    // Bytes are read at the last moment: what was checked and is recorded are the handles.
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
      return use === undefined ? outcome : { ...outcome, approval: use };
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
  "worker_oom",
  "worker_timeout",
  "worker_died",
  "result_too_large",
  "upstream_unreachable",
  "upstream_protocol",
  "upstream_status",
]);

/** A finished call. */
export const asResult = (result: JsonObject): Outcome => ({ kind: "result", result });

function reasonOf(error: unknown): string {
  if (error instanceof UpstreamError) return error.detail ?? error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
