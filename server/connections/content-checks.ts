/** What must hold for an environment to be served, and what deserves a second look. */
import type { Transaction } from "sequelize";
import { GlobError } from "../access/glob.ts";
import { compilePolicy, type PolicyConnection } from "../access/policy.ts";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { EnvironmentRow } from "../store/models/environments.ts";
import { collectionOf } from "./collection.ts";
import type { ConnectionItem, EndpointItem, EnvironmentContent } from "./content.ts";
import { DEFAULT_ENDPOINT } from "./default-endpoint.ts";
import { FIRST_ENVIRONMENT } from "./files.ts";
import { readPublished } from "./versions.ts";

/** Something about a connection, an endpoint or the environment itself. */
export interface ContentProblem {
  /** An error cannot be served; a warning can. */
  level: "error" | "warning";
  kind: "connection" | "endpoint" | "environment";
  slug: string;
  /** Dotted path of the key, e.g. `tools.allow[2].args.to`. */
  path: string;
  message: string;
}

interface Place {
  environment: Pick<EnvironmentRow, "id" | "slug" | "organizationId">;
  transaction: Transaction;
}

/** @throws JackfieldError `invalid_entry` with the errors among the problems */
export function refuseErrors(problems: readonly ContentProblem[]): void {
  const errors = problems.filter(({ level }) => level === "error");
  if (errors.length === 0) return;
  const text = errors.map(({ kind, slug, path, message }) => `${kind} ${slug}: ${path}: ${message}`).join("\n");
  throw new JackfieldError("invalid_entry", { text, data: { problems: errors } });
}

/** Everything about a content that its own environment and its siblings decide. */
export async function contentProblems(
  store: Store,
  { environment, transaction }: Place,
  content: EnvironmentContent,
): Promise<ContentProblem[]> {
  const { organizationId, slug } = environment;
  const rows = await store.models.environments.findAll({
    where: { organizationId, retiredAt: null },
    order: [["id", "ASC"]],
    transaction,
  });
  const siblings = new Map(rows.map((row) => [row.id, row.get({ plain: true })]));
  const problems: ContentProblem[] = [];
  const own = (path: string, message: string) =>
    problems.push({ level: "error", kind: "environment", slug, path, message });

  const chain = ancestors(environment.id, content.parentId, siblings);
  if (chain === "cycle") own("parent", "leads back to this environment");
  if (chain === "unknown") own("parent", "there is no such environment");
  const inherited: ConnectionItem[] = [];
  for (const ancestor of Array.isArray(chain) ? chain : []) {
    inherited.push(...(await readPublished(store, ancestor, transaction)).content.connections);
  }
  const visible = visibleConnections(content.connections, inherited);
  if (slug === FIRST_ENVIRONMENT && !content.endpoints.some((endpoint) => endpoint.slug === DEFAULT_ENDPOINT)) {
    own("endpoints", `the endpoint ${DEFAULT_ENDPOINT} cannot be missing`);
  }
  const taken = await endpointsElsewhere(store, environment.id, [...siblings.values()], transaction);
  for (const endpoint of content.endpoints) {
    const elsewhere = taken.get(endpoint.slug);
    if (elsewhere !== undefined) {
      const message = `the environment ${elsewhere} has an endpoint of this name; the address would be the same`;
      problems.push({ level: "error", kind: "endpoint", slug: endpoint.slug, path: "slug", message });
    }
    problems.push(...endpointProblems(endpoint, visible));
  }
  problems.push(...denialProblems(slug, content, visible));
  return problems;
}

/** Own connections and those of ancestors, nearest first: an owned one shadows an inherited one of its slug. */
export function visibleConnections(
  own: readonly ConnectionItem[],
  inherited: readonly ConnectionItem[],
): ConnectionItem[] {
  const visible = new Map<string, ConnectionItem>();
  for (const connection of [...own, ...inherited]) {
    if (!visible.has(connection.slug)) visible.set(connection.slug, connection);
  }
  return [...visible.values()];
}

/** The ancestors of an environment, nearest first, as they are published. */
function ancestors(
  id: string,
  parentId: string | null,
  siblings: ReadonlyMap<string, EnvironmentRow>,
): EnvironmentRow[] | "cycle" | "unknown" {
  const chain: EnvironmentRow[] = [];
  for (let at = parentId; at !== null; ) {
    if (at === id || chain.some((ancestor) => ancestor.id === at)) return "cycle";
    const ancestor = siblings.get(at);
    if (ancestor === undefined) return "unknown";
    chain.push(ancestor);
    at = ancestor.parentId;
  }
  return chain;
}

/** Slugs of the endpoints that other environments serve, with the slug of whose they are. */
async function endpointsElsewhere(
  store: Store,
  environmentId: string,
  siblings: readonly EnvironmentRow[],
  transaction: Transaction,
): Promise<Map<string, string>> {
  const others = siblings.filter(({ id, publishedVersionId }) => id !== environmentId && publishedVersionId !== null);
  const versions = new Map(others.map(({ publishedVersionId, slug }) => [publishedVersionId, slug]));
  const versionId = others.flatMap(({ publishedVersionId }) => publishedVersionId ?? []);
  const rows = await store.models.endpointVersions.findAll({
    attributes: ["versionId", "endpointId"],
    where: { versionId },
    transaction,
  });
  const slugs = await store.models.endpoints.findAll({
    where: { id: rows.map(({ endpointId }) => endpointId) },
    transaction,
  });
  const slugOf = new Map(slugs.map(({ id, slug }) => [id, slug]));
  return new Map(rows.map((row) => [slugOf.get(row.endpointId) ?? "", versions.get(row.versionId) ?? ""]));
}

function endpointProblems(endpoint: EndpointItem, visible: readonly ConnectionItem[]): ContentProblem[] {
  const { slug, config } = endpoint;
  const about = { kind: "endpoint", slug } as const;
  const problems: ContentProblem[] = [];
  if (config.connection !== undefined) {
    const shown = visible.find((connection) => connection.slug === config.connection);
    const path = "connection";
    if (shown === undefined) {
      const message = `there is no connection ${config.connection} in this environment`;
      problems.push({ ...about, level: "error", path, message });
    } else if (config.audience === "shared" && shown.config.subject === "user") {
      const message = `${shown.slug} is each person's own, so it does not exist on an endpoint with audience: shared`;
      problems.push({ ...about, level: "error", path, message });
    }
  }
  const { allow, forbid } = config.tools;
  const found = policyProblems({ allow, forbid, environmentForbid: [] }, visible);
  return [...problems, ...found.map((problem) => ({ ...about, ...problem, path: `tools.${problem.path}` }))];
}

function denialProblems(
  slug: string,
  { forbid }: Pick<EnvironmentContent, "forbid">,
  visible: readonly ConnectionItem[],
): ContentProblem[] {
  const found = policyProblems({ forbid, environmentForbid: [] }, visible);
  return found.map((problem) => ({ kind: "environment", slug, ...problem, path: `tools.${problem.path}` }));
}

type PolicyWords = Pick<Parameters<typeof compilePolicy>[0], "allow" | "forbid" | "environmentForbid">;

/** Entries that cannot be read, or bind to nothing whatever tools there are. */
function policyProblems(
  words: PolicyWords,
  visible: readonly ConnectionItem[],
): { level: "error" | "warning"; path: string; message: string }[] {
  const connections = visible.map(policyConnection);
  try {
    return compilePolicy({ ...words, connections }).problems.map(({ rule, reason, never }) => ({
      level: never ? ("error" as const) : ("warning" as const),
      path: rule,
      message: never ? `can never apply: ${reason}` : `grants nothing: ${reason}`,
    }));
  } catch (error) {
    if (!(error instanceof GlobError)) throw error;
    return [{ level: "error", path: "", message: error.message }];
  }
}

/** A connection as policies see it. */
export function policyConnection({ slug, config }: Pick<ConnectionItem, "slug" | "config">): PolicyConnection {
  return { slug, collection: collectionOf(config.type, config.adapter) };
}
