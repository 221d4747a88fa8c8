/** Which connection a packet is for, or why none can take it. */
import type { ServedConnection } from "../../connections/types.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import type { Pairing } from "../../signin/pairing.ts";
import { selectConnections } from "./search-connections.ts";

const NAMED = 8;

export type PairChoice =
  | { kind: "one"; connection: ServedConnection }
  /** Several can be paired, and none was named. */
  | { kind: "several"; slugs: string[] }
  /** It can be paired, by others. */
  | { kind: "not_allowed"; connection: ServedConnection }
  | { kind: "unavailable"; connection: ServedConnection | undefined; reason: string };

/** @param wanted the connection as the caller named it */
export async function chooseConnection(
  pairing: Pairing,
  { toolset, principal }: GatewayCaller,
  wanted: string | undefined,
): Promise<PairChoice> {
  const here = new Set([...toolset.pairing.values()].map(({ connection }) => connection));
  const obstacle = (connection: ServedConnection): string | undefined => {
    const found = pairing.obstacle(connection);
    if (found !== undefined) return found.text;
    return here.has(connection)
      ? undefined
      : `${connection.label} must not be paired at this endpoint: its policy does not grant ${connection.slug}__pair.`;
  };
  const served = [...toolset.served.values()];
  const ready = served.filter((connection) => obstacle(connection) === undefined);

  if (wanted !== undefined) {
    const named = find(toolset, wanted);
    const connection = named === undefined ? undefined : toolset.served.get(named);
    if (connection !== undefined) {
      const reason = obstacle(connection);
      if (reason !== undefined) return { kind: "unavailable", connection, reason };
      const allowed = await pairing.allowed(connection, principal);
      return { kind: allowed ? "one" : "not_allowed", connection };
    }
    if (named !== undefined) {
      const reason = `${named} is each person's own, and this endpoint is shared: pair it at a private endpoint.`;
      return { kind: "unavailable", connection: undefined, reason };
    }
    if (ready.length > 0) {
      const reason = `There is no such connection here. These can be paired: ${listOf(ready)}.`;
      return { kind: "unavailable", connection: undefined, reason };
    }
  }

  const allowed: ServedConnection[] = [];
  for (const connection of ready) if (await pairing.allowed(connection, principal)) allowed.push(connection);
  const [first] = allowed;
  if (first !== undefined && allowed.length === 1) return { kind: "one", connection: first };
  if (first !== undefined) return { kind: "several", slugs: allowed.map(({ slug }) => slug) };
  const [other] = ready;
  if (other !== undefined) return { kind: "not_allowed", connection: other };
  return { kind: "unavailable", connection: undefined, reason: reasonOf(served, obstacle) };
}

/** The real causes: of those that were meant to be paired, else that none was. */
function reasonOf(
  served: readonly ServedConnection[],
  obstacle: (connection: ServedConnection) => string | undefined,
): string {
  const meant = served.filter(({ auth }) => auth.pairing === true);
  if (meant.length === 0) return `None of the ${served.length} connections here supports pairing.`;
  const shown = meant.slice(0, NAMED).flatMap((connection) => obstacle(connection) ?? []);
  return `${shown.join(" ")}${meant.length > NAMED ? ` And ${meant.length - NAMED} more.` : ""}`;
}

/** The slug that a name means, also of a connection that does not exist at a shared endpoint. */
function find(toolset: GatewayCaller["toolset"], wanted: string): string | undefined {
  if (toolset.connections.some(({ slug }) => slug === wanted)) return wanted;
  const selected = selectConnections(toolset, [wanted]);
  if ("unknown" in selected || selected.slugs.size !== 1) return undefined;
  return [...selected.slugs][0];
}

/** Slugs, the first few of them. */
export function listOf(connections: readonly { slug: string }[]): string {
  const slugs = connections.slice(0, NAMED).map(({ slug }) => slug);
  const more = connections.length - slugs.length;
  return `${slugs.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
