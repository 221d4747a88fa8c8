/** What an operator asks about connections: which there are, how they are, what they offer. */
import type { Health } from "../../adapters/contract.ts";
import { accessOf } from "../access/classes.ts";
import type { Store } from "../store/database.ts";
import { failureOf } from "./catalogue.ts";
import { ensureState } from "./memory.ts";
import type { Registry } from "./registry.ts";
import type { ConnectionSessions } from "./sessions.ts";
import type { ServedConnection } from "./types.ts";

export interface ConnectionSummary {
  organization: string;
  environment: string;
  slug: string;
  type: string;
  label: string;
  state: string;
  /** Tools that can be found and called. */
  tools: number;
  /** Tools that wait for a person. */
  toReview: number;
  error?: { code: string; message: string };
  catalogueAt?: Date;
}

export interface ToolSummary {
  name: string;
  action: string;
  state: "pending" | "approved" | "changed" | "gone";
  /** Absent: neither class, so hidden whatever its state. */
  class?: "read" | "write";
  approval?: "none" | "required";
  description: string;
}

/** Every connection with what is known about it, sorted by organization, environment and slug. */
export async function listConnections(store: Store, registry: Registry): Promise<ConnectionSummary[]> {
  const environments = new Map(registry.environments().map((environment) => [environment.id, environment]));
  const states = new Map((await store.models.connectionStates.findAll()).map((row) => [row.connectionId, row]));
  const waiting = new Map<string, number>();
  const rows = await store.models.tools.findAll({
    attributes: ["connectionId"],
    where: { state: ["pending", "changed"] },
  });
  for (const { connectionId } of rows) waiting.set(connectionId, (waiting.get(connectionId) ?? 0) + 1);
  const summaries = registry.connections().map((connection): ConnectionSummary => {
    const environment = environments.get(connection.environmentId);
    const catalogueAt = states.get(connection.id)?.catalogueAt;
    return {
      organization: environment?.organizationSlug ?? "",
      environment: environment?.slug ?? "",
      slug: connection.slug,
      type: connection.type,
      label: connection.label,
      state: connection.state,
      tools: connection.tools.filter((tool) => tool.state === "approved").length,
      toReview: waiting.get(connection.id) ?? 0,
      ...(connection.loadError === undefined ? {} : { error: connection.loadError }),
      ...(catalogueAt == null ? {} : { catalogueAt }),
    };
  });
  const place = (summary: ConnectionSummary) => `${summary.organization}/${summary.environment}/${summary.slug}`;
  return summaries.sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

/**
 * A connection by its slug, or `<environment>/<slug>`.
 * @param organizationSlug undefined: the first organization
 */
export function findConnection(
  registry: Registry,
  slug: string,
  organizationSlug: string,
): ServedConnection | undefined {
  const [environmentSlug, own] = slug.includes("/") ? slug.split("/", 2) : [undefined, slug];
  for (const environment of registry.environments()) {
    if (environment.organizationSlug !== organizationSlug) continue;
    if (environmentSlug !== undefined && environment.slug !== environmentSlug) continue;
    const found = environment.connections.find((connection) => connection.slug === own);
    if (found) return found;
  }
  return undefined;
}

/** Every stored tool of a connection, in the upstream's order, gone ones last. */
export async function listTools(store: Store, connection: ServedConnection): Promise<ToolSummary[]> {
  const rows = await store.models.tools.findAll({
    where: { connectionId: connection.id },
    order: [["position", "ASC"]],
  });
  const access = accessOf(connection.access);
  return rows
    .map((row): ToolSummary => {
      const definition = row.reviewedDefinition ?? row.definition;
      const toolClass = access.classOf(row.upstreamName, definition.annotations);
      return {
        name: row.name,
        action: row.upstreamName,
        state: row.state,
        ...(toolClass === undefined
          ? {}
          : { class: toolClass, approval: access.approvalOf(row.upstreamName, toolClass) }),
        description: definition.description ?? "",
      };
    })
    .sort((a, b) => Number(a.state === "gone") - Number(b.state === "gone"));
}

/** Asks the upstream how it is and stores the answer. */
export async function checkConnection(
  { store, sessions, clock = Date.now }: { store: Store; sessions: ConnectionSessions; clock?: () => number },
  connection: ServedConnection,
): Promise<{ state: "healthy" | "unhealthy"; code?: string; message?: string }> {
  const health = await sessions
    .use(connection, undefined, (session): Promise<Health> => session.check())
    .catch((error: unknown) => {
      const failure = failureOf(error);
      if (failure === undefined) throw error;
      return { state: "unhealthy" as const, ...failure };
    });
  await ensureState(store, connection.id);
  await store.models.connectionStates.update(
    {
      health: health.state,
      healthCode: health.code ?? null,
      healthMessage: health.message?.slice(0, 2000) ?? null,
      checkedAt: new Date(clock()),
    },
    { where: { connectionId: connection.id } },
  );
  return health;
}
