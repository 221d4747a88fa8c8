/**
 * `<connection>__pair`: a tool of our own that `tool_search` shows for each connection that can be paired, also before
 * it has an account. It falls under the endpoint's grants and denials by its name, as every tool does.
 */
import type { ToolDefinition } from "../../adapters/contract.ts";
import { grantOf, isGrant, type Policy } from "../access/policy.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { SearchDocument } from "../search/documents.ts";
import { canRedeem } from "../signin/pairing.ts";

const PAIR_ACTION = "pair";

export interface PairingTool {
  readonly name: string;
  readonly action: string;
  readonly connection: ServedConnection;
  readonly class: "write";
  readonly approval: "none";
  readonly tool: { readonly state: "approved"; readonly definition: ToolDefinition };
  readonly listed: ToolDefinition;
}

/** The packet is a secret: `writeOnly` and `format` say so to clients that show or keep arguments. */
export const PACKET_PROPERTY = {
  type: "string",
  format: "password",
  writeOnly: true,
  description: "The whole packet",
} as const;

/** The name under which a connection is paired. */
function pairingName(slug: string): string {
  return `${slug}__${PAIR_ACTION}`;
}

/** Whether the policy of an endpoint lets its callers pair the connection; a grant with conditions does not. */
function pairingGranted(policy: Policy, { slug }: Pick<ServedConnection, "slug">): boolean {
  const grant = grantOf(policy, { name: pairingName(slug), connectionSlug: slug, action: PAIR_ACTION });
  return isGrant(grant) && grant.rules.some(({ guards, onlyArgs }) => guards.length === 0 && !onlyArgs);
}

/** The tool of a connection; undefined where it cannot be paired, here or at all. */
export function pairingToolOf(connection: ServedConnection, policy: Policy): PairingTool | undefined {
  const { slug, auth } = connection;
  if (auth.pairing !== true || !canRedeem(connection) || !pairingGranted(policy, connection)) return undefined;
  const name = pairingName(slug);
  // Few words on purpose: it should be found for pairing, not for whatever else its service does.
  const definition: ToolDefinition = {
    name,
    title: "Pair",
    description:
      "Redeems a pasted one-time pairing packet for this connection. Pass the whole packet unchanged and never repeat it.",
    inputSchema: { type: "object", properties: { packet: PACKET_PROPERTY }, required: ["packet"] },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  };
  const tool = { state: "approved" as const, definition };
  return { name, action: PAIR_ACTION, connection, class: "write", approval: "none", tool, listed: definition };
}

/** The tool as search sees it. */
export function pairingDocument({ name, connection, tool }: PairingTool): SearchDocument {
  const { title, description, inputSchema } = tool.definition;
  return {
    name,
    connection: connection.slug,
    action: PAIR_ACTION,
    ...(title ? { title } : {}),
    ...(description ? { description } : {}),
    inputSchema,
    connectionLabel: connection.label,
    connectionDescription: connection.description,
    aliases: connection.aliases,
    access: "write",
    // Of its own for each connection: pairing one is no substitute for pairing another.
    schemaHash: `pairing:${connection.id}`,
  };
}

const fold = (name: string) => name.replaceAll("-", "_");

/**
 * The connection that a name means to pair: `<connection>__pair`, or a spelling that differs in `-` and `_` only.
 * Undefined where it means none, or where a tool of the service itself has the name.
 */
export function pairingTarget(
  { byName, pairing }: { byName: ReadonlyMap<string, unknown>; pairing: ReadonlyMap<string, PairingTool> },
  name: string,
): ServedConnection | undefined {
  if (byName.has(name)) return undefined;
  const exact = pairing.get(name);
  if (exact !== undefined || !name.endsWith(`__${PAIR_ACTION}`)) return exact?.connection;
  const alike = [...pairing.values()].filter((tool) => fold(tool.name) === fold(name));
  return alike.length === 1 ? alike[0]?.connection : undefined;
}
