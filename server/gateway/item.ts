/** Prompts, resources and completions: the pipeline of `call.ts` without arguments to guard (steps 5, 8 to 10). */
import type { AdapterSession, CallContext, JsonObject } from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import type { AuthorizationNeed } from "./authorization.ts";
import type { Gateway, Reach } from "./call.ts";
import { describeCaller } from "./call-events.ts";
import { assetOwner, type Door, type GatewayCaller } from "./caller.ts";
import { missingScope, scopeError } from "./step-up.ts";

export interface ItemUse<T> {
  readonly caller: GatewayCaller;
  readonly door: Extract<Door, "resource" | "prompt" | "completion">;
  readonly connection: ServedConnection;
  /** The upstream's own name or address, for the audit. */
  readonly item: string;
  /** Undefined for a completion without arguments. */
  readonly args?: JsonObject;
  readonly reach: Reach;
  readonly work: (session: AdapterSession, call: CallContext) => Promise<T>;
}

/**
 * Uses one item of a connection and records it. Visibility was decided by who calls this (`Toolset.admits`).
 * @throws JackfieldError `scope_missing` without `mcp:read`, and whatever the adapter throws
 */
export async function useItem<T>(gateway: Gateway, use: ItemUse<T>): Promise<T> {
  const started = gateway.clock();
  const { caller, connection } = use;
  const event = {
    ...describeCaller(caller, use.door),
    connectionId: connection.id,
    connectionSlug: connection.slug,
    action: use.item.slice(0, 255),
    class: "read",
    ...(use.args ? { argumentsDigest: gateway.audit.digest(use.args) } : {}),
  } as const;
  if (!caller.principal.scopes.has("mcp:read")) {
    gateway.audit.refused({
      ...event,
      decision: "refuse",
      rule: "scope",
      reason: "mcp:read is missing",
      outcomeCode: "scope_missing",
      durationMs: 0,
    });
    throw scopeError(missingScope(gateway.stepUp, caller.principal, "mcp:read"));
  }
  const unauthorized = (need: AuthorizationNeed) =>
    new JackfieldError("authorization_required", { text: need.text, data: need.url ? { url: need.url } : {} });
  const need = await gateway.authorizations.need(connection, caller.principal);
  if (need) {
    gateway.audit.refused({
      ...event,
      decision: "refuse",
      rule: "credential",
      reason: "no credential yet",
      outcomeCode: "authorization_required",
      durationMs: 0,
    });
    throw unauthorized(need);
  }
  const { callMs, maxMs } = gateway.timeouts;
  const call: CallContext = {
    ...use.reach,
    assets: gateway.assets.of(assetOwner(caller), connection.id),
    timeoutMs: use.reach.ask ? maxMs : callMs,
    maxTimeoutMs: maxMs,
  };
  try {
    const answer = await gateway.sessions.use(connection, caller.principal.key, (session) => use.work(session, call));
    gateway.audit.record({
      ...event,
      decision: "allow",
      rule: "visible",
      outcome: "ok",
      durationMs: gateway.clock() - started,
    });
    return answer;
  } catch (error) {
    const outcome = use.reach.signal.aborted ? "cancelled" : "error";
    gateway.audit.record({
      ...event,
      decision: "allow",
      rule: "visible",
      outcome,
      durationMs: gateway.clock() - started,
    });
    gateway.log.warn(
      { connection: connection.slug, item: use.item.slice(0, 200), reason: String(error) },
      "an item could not be used",
    );
    const refused = error instanceof JackfieldError && error.code === "authorization_required" ? error : undefined;
    const missing = refused && (await gateway.authorizations.need(connection, caller.principal, refused));
    throw missing ? unauthorized(missing) : error;
  }
}
