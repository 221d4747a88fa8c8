/** What an audit event says about a call before its outcome is known. */
import type { AuditEvent } from "../observe/audit.ts";
import type { Door, GatewayCaller } from "./caller.ts";
import type { ToolEntry } from "./toolset.ts";

/** The part that says what was called, by whom. @param digest HMAC of the arguments, where they are known */
export function describeCall(
  call: { readonly caller: GatewayCaller; readonly door: Door },
  entry: ToolEntry,
  digest: string | undefined,
): Omit<AuditEvent, "decision"> {
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
