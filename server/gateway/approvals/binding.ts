/** What an approval is bound to: who calls, through what, which tool under which policy, with which arguments. */
import { digestOf } from "../../connections/digest.ts";
import type { ServedEndpoint, ServedEnvironment } from "../../connections/types.ts";
import type { ApprovalRow } from "../../store/models/approvals.ts";
import type { GatewayCaller } from "../caller.ts";
import type { ToolEntry } from "../toolset.ts";

export type Binding = Pick<
  ApprovalRow,
  | "organizationId"
  | "environmentId"
  | "endpointId"
  | "connectionId"
  | "toolName"
  | "principalKey"
  | "policyRevision"
  | "argumentsDigest"
>;

/** @param argumentsDigest HMAC of the prepared arguments */
export function bindingOf(caller: GatewayCaller, entry: ToolEntry, argumentsDigest: string): Binding {
  const { principal, endpoint, environment } = caller;
  return {
    organizationId: principal.organizationId,
    environmentId: environment.id,
    endpointId: endpoint.id,
    connectionId: entry.connection.id,
    toolName: entry.tool.name,
    principalKey: principal.key,
    policyRevision: policyRevisionOf(endpoint, environment, entry),
    argumentsDigest,
  };
}

const known = new WeakMap<ToolEntry, string>();

/**
 * A digest of everything that governs a call of the tool: the endpoint, the denials of the environment, what the
 * connection lets be done and where it leads, and the reviewed definition. What only serves the display is not in it,
 * so that a catalogue read again voids nothing.
 */
export function policyRevisionOf(endpoint: ServedEndpoint, environment: ServedEnvironment, entry: ToolEntry): string {
  // An entry belongs to one endpoint in one version of its environment.
  let revision = known.get(entry);
  if (revision === undefined) {
    const { connection, tool } = entry;
    const { config, auth, credential, subject, access, approvals } = connection;
    const governs = { config, auth, credential, subject, access, approvals };
    const definition = { hash: tool.hash, class: tool.class, approval: entry.approval, floor: entry.floor };
    revision = digestOf([endpoint.config, environment.forbid, governs, definition]);
    known.set(entry, revision);
  }
  return revision;
}

/** Digest of the whole binding: equal for calls that one pending approval serves. */
export function openKeyOf(binding: Binding): string {
  return digestOf(binding);
}
