/** What a deletion would break, so that whoever deletes knows before. */
import { Op } from "sequelize";
import type { PolicyEntry } from "../access/policy.ts";
import { JackfieldError } from "../errors.ts";
import { SLUG_PATTERN } from "../gateway/names.ts";
import type { Store } from "../store/database.ts";
import { openEnvironment } from "./authoring.ts";
import type { EnvironmentContent } from "./content.ts";
import { credentialName } from "./credentials.ts";
import { DEFAULT_ENDPOINT } from "./default-endpoint.ts";
import { FIRST_ENVIRONMENT } from "./files.ts";
import { readPublished } from "./versions.ts";

/** What goes, or stops working, with a connection. */
export interface ConnectionConsequences {
  /** Tools that callers may use now. */
  tools: number;
  /** People and agents who signed in; their accounts stay until they are disconnected. */
  accounts: number;
  /** Name of the stored credential, which stays; absent where there is none. */
  credential?: string;
  /** Endpoints whose policy, pins or `connection` name it, with the places. */
  endpoints: { environment: string; endpoint: string; places: string[] }[];
  /** Environments that inherit it. */
  inheritedBy: string[];
  /** An ancestor's connection of the same slug takes its place. */
  uncovers?: string;
}

/** What goes, or stops working, with an endpoint. */
export interface EndpointConsequences {
  /** Agent tokens that work there, and those of them that work nowhere else. */
  tokens: number;
  tokensOnlyThere: number;
  /** What people allowed clients there. */
  authorizations: number;
  /** It cannot be deleted: it is the default one. */
  isDefault: boolean;
}

/** @throws JackfieldError `not_found` */
export async function connectionConsequences(store: Store, connectionId: string): Promise<ConnectionConsequences> {
  const { models } = store;
  const identity = await models.connections.findByPk(connectionId);
  if (identity === null) throw new JackfieldError("not_found", { text: "There is no such connection." });
  const { slug, environmentId } = identity;
  const tools = await models.tools.count({ where: { connectionId, state: "approved" } });
  const accounts = await models.accounts.count({ where: { connectionId } });
  return store.transaction(async (transaction) => {
    const { environment, head } = await openEnvironment(store, environmentId, transaction);
    const { organizationId } = environment;
    const config = head.connections.find(({ id }) => id === connectionId)?.config;
    const name = credentialName({ slug, ...config });
    const credential = await models.credentials.findOne({ where: { organizationId, name }, transaction });
    const rows = await models.environments.findAll({ where: { organizationId, retiredAt: null }, transaction });
    const all = rows.map((row) => row.get({ plain: true }));
    const heirs = all.filter((row) => inherits(row.id, environmentId, all));
    const contents: { slug: string; content: EnvironmentContent }[] = [{ slug: environment.slug, content: head }];
    for (const heir of heirs) {
      const { content } = await readPublished(store, heir, transaction);
      if (!content.connections.some((owned) => owned.slug === slug)) contents.push({ slug: heir.slug, content });
    }
    const endpoints = contents.flatMap(({ slug: of, content }) =>
      content.endpoints.flatMap((endpoint) => {
        const places = placesOf(slug, endpoint.config);
        return places.length === 0 ? [] : [{ environment: of, endpoint: endpoint.slug, places }];
      }),
    );
    let uncovers: string | undefined;
    for (
      let at = parentOf(environment.id, all);
      at !== undefined && uncovers === undefined;
      at = parentOf(at.id, all)
    ) {
      const { content } = await readPublished(store, at, transaction);
      if (content.connections.some((inherited) => inherited.slug === slug)) uncovers = at.slug;
    }
    return {
      tools,
      accounts,
      ...(credential === null ? {} : { credential: name }),
      endpoints,
      inheritedBy: contents.slice(1).map((heir) => heir.slug),
      ...(uncovers === undefined ? {} : { uncovers }),
    };
  });
}

/** @throws JackfieldError `not_found` */
export async function endpointConsequences(store: Store, endpointId: string): Promise<EndpointConsequences> {
  const { endpoints, environments, agentTokens, oauthGrants } = store.models;
  const endpoint = await endpoints.findByPk(endpointId);
  const environment = endpoint && (await environments.findByPk(endpoint.environmentId));
  if (endpoint === null || environment === null) {
    throw new JackfieldError("not_found", { text: "There is no such endpoint." });
  }
  const now = new Date();
  const live = { revokedAt: null, [Op.or]: [{ expiresAt: null }, { expiresAt: { [Op.gt]: now } }] };
  const rows = await agentTokens.findAll({ where: { organizationId: environment.organizationId, ...live } });
  const there = rows.filter(({ endpointIds }) => endpointIds.includes(endpointId));
  return {
    tokens: there.length,
    tokensOnlyThere: there.filter(({ endpointIds }) => endpointIds.length === 1).length,
    authorizations: await oauthGrants.count({ where: { endpointId, endedAt: null, expiresAt: { [Op.gt]: now } } }),
    isDefault: endpoint.slug === DEFAULT_ENDPOINT && environment.slug === FIRST_ENVIRONMENT,
  };
}

/** Why a slug cannot be given to a new connection or endpoint of an environment; undefined where it can. */
export async function slugProblem(
  store: Store,
  { environmentId, kind, slug }: { environmentId: string; kind: "connection" | "endpoint"; slug: string },
): Promise<string | undefined> {
  if (!SLUG_PATTERN.test(slug)) {
    return "It must start with a letter and hold at most 24 lower-case letters, digits and single hyphens.";
  }
  return store.transaction(async (transaction) => {
    const { environment, head } = await openEnvironment(store, environmentId, transaction);
    const own = kind === "connection" ? head.connections : head.endpoints;
    if (own.some((item) => item.slug === slug)) return `There is a ${kind} ${slug} in this environment already.`;
    if (kind === "connection") return undefined;
    const where = { organizationId: environment.organizationId, retiredAt: null };
    for (const row of await store.models.environments.findAll({ where, transaction })) {
      if (row.id === environmentId) continue;
      const { content } = await readPublished(store, row.get({ plain: true }), transaction);
      if (content.endpoints.some((endpoint) => endpoint.slug === slug)) {
        return `The environment ${row.slug} has an endpoint ${slug}; the address would be the same.`;
      }
    }
    return undefined;
  });
}

interface Related {
  readonly id: string;
  readonly slug: string;
  readonly parentId: string | null;
}

function parentOf<Row extends Related>(id: string, all: readonly Row[]): Row | undefined {
  const parentId = all.find((row) => row.id === id)?.parentId;
  return all.find((row) => row.id === parentId);
}

function inherits(id: string, ancestorId: string, all: readonly Related[]): boolean {
  const seen = new Set([id]);
  for (let at = parentOf(id, all); at !== undefined && !seen.has(at.id); at = parentOf(at.id, all)) {
    if (at.id === ancestorId) return true;
    seen.add(at.id);
  }
  return false;
}

/** Where an endpoint names a connection by its slug. */
function placesOf(slug: string, config: EnvironmentContent["endpoints"][number]["config"]): string[] {
  const names = (entry: PolicyEntry): boolean =>
    typeof entry === "string"
      ? entry.startsWith(`${slug}__`)
      : entry.connection === slug || (entry.connection === undefined && entry.tool.startsWith(`${slug}__`));
  const of = (list: readonly PolicyEntry[], place: string) =>
    list.flatMap((entry, at) => (names(entry) ? [`tools.${place}[${at}]`] : []));
  return [
    ...(config.connection === slug ? ["connection"] : []),
    ...of(config.tools.allow ?? [], "allow"),
    ...of(config.tools.forbid, "forbid"),
    ...config.pin.flatMap((pin, at) => (names(pin) ? [`pin[${at}]`] : [])),
  ];
}
