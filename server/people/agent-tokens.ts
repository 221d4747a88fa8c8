/** The bearer tokens of agents: made, listed, revoked and verified. Only hashes are stored. */
import ipaddr from "ipaddr.js";
import { Op } from "sequelize";
import type { Log } from "../../adapters/contract.ts";
import { parseRange } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { type Bus, TOPICS } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { AgentTokenRow } from "../store/models/agent-tokens.ts";
import { PERMISSIONS, type Permission, type Role } from "./permissions.ts";
import { clientKey, type Principal, parseScopes, principalKey, type Scope } from "./principal.ts";
import { createTokenCache } from "./token-cache.ts";
import { hashToken, isToken, makeToken } from "./token-format.ts";

/** Issuer of agents' principals; their subject is the agent's id. */
export const AGENT_ISSUER = "urn:jackfield:agents";

/** How often the time of a token's last use is written. */
const TOUCH_MS = 60_000;

export interface NewAgentToken {
  organizationId: string;
  /** Name of the agent; one that exists gets a further token. */
  name: string;
  /** Ids of the endpoints at which it works; at least one. */
  endpointIds: readonly string[];
  scopes: readonly Scope[];
  /** What it may at `/api`; absent: nothing. */
  permissions?: readonly Permission[];
  variables: Readonly<Record<string, string>>;
  /** CIDRs it may come from; absent: anywhere. */
  allowedNetworks?: readonly string[];
  /** Absent: never. */
  expiresAt?: Date;
  createdBy: string;
}

/** A token as lists show it. */
export type AgentTokenSummary = Omit<AgentTokenRow, "hash" | "scopes" | "permissions"> & {
  scopes: Scope[];
  permissions: Permission[];
};

/** Whoever holds a token, at the API. */
export interface TokenHolder {
  readonly principal: Principal;
  readonly permissions: ReadonlySet<Permission>;
  /** Of the person whose own token it is. */
  readonly role: Role | undefined;
}

export interface AgentTokens {
  /** The token is returned here and never again. Throws `config_invalid`. */
  create(token: NewAgentToken): Promise<{ token: string; id: string }>;
  /** All of an organization, oldest first, the revoked and expired ones included. */
  list(organizationId: string): Promise<AgentTokenSummary[]>;
  /** Ends one token by its id or all of an agent by its name; returns how many. Other processes follow within 1 s. */
  revoke(organizationId: string, idOrName: string): Promise<number>;
  /** Ends every token of the agents that are a member's own; returns how many. */
  revokeOwn(organizationId: string, personId: string): Promise<number>;
  /** Who a token stands for; undefined where it is none, unknown, expired, revoked or from a foreign network. */
  verify(token: string, from: { ip?: string }): Promise<Principal | undefined>;
  /** The same, with what it may at the API. */
  identify(token: string, from: { ip?: string }): Promise<TokenHolder | undefined>;
  /** Waits for what is still being written and stops listening. */
  close(): Promise<void>;
}

interface Known extends TokenHolder {
  readonly expiresAt: number;
  readonly networks: readonly string[] | null;
}

export interface AgentTokensOptions {
  store: Store;
  bus: Bus;
  /** Milliseconds since the epoch. */
  clock: () => number;
  log?: Log;
}

export function createAgentTokens({ store, bus, clock, log }: AgentTokensOptions): AgentTokens {
  const { agents, agentTokens } = store.models;
  const cache = createTokenCache<Known>();
  const loading = new Map<string, Promise<Known | undefined>>();
  const touched = new Map<string, number>();
  const pending = new Set<Promise<void>>();
  const forget = (): void => {
    cache.clear();
    loading.clear();
  };
  const unsubscribe = bus.subscribe(TOPICS.tokens, forget);

  async function load(hash: string): Promise<Known | undefined> {
    const { generation } = cache;
    const row = await agentTokens.findOne({ where: { hash } });
    const agent = row === null ? null : await agents.findByPk(row.agentId);
    const now = clock();
    const known = row === null || agent === null ? undefined : knownOf(row, agent.name, now);
    // A revocation that came in meanwhile must win over a row that was read before it.
    if (generation === cache.generation) cache.set(hash, known, now, known?.expiresAt ?? Number.POSITIVE_INFINITY);
    return known;
  }

  function loadOnce(hash: string): Promise<Known | undefined> {
    const running = loading.get(hash);
    if (running !== undefined) return running;
    const started = load(hash).finally(() => {
      if (loading.get(hash) === started) loading.delete(hash);
    });
    loading.set(hash, started);
    return started;
  }

  async function revokeAll(rows: readonly AgentTokenRow[]): Promise<number> {
    let revoked = 0;
    for (const { id } of rows) {
      const [changed] = await agentTokens.update({ revokedAt: new Date(clock()) }, { where: { id, revokedAt: null } });
      revoked += changed;
      await bus.publish(TOPICS.tokens, { id });
    }
    return revoked;
  }

  function touch(id: string, now: number, ip: string | undefined): void {
    if (now - (touched.get(id) ?? Number.NEGATIVE_INFINITY) < TOUCH_MS) return;
    touched.set(id, now);
    const stale = { [Op.or]: [{ lastUsedAt: null }, { lastUsedAt: { [Op.lte]: new Date(now - TOUCH_MS) } }] };
    const write = agentTokens
      .update({ lastUsedAt: new Date(now), lastUsedIp: ip ?? null }, { where: { id, ...stale } })
      .then(() => undefined)
      .catch((error: unknown) => log?.warn({ error, token: id }, "the last use of a token could not be written"))
      .finally(() => pending.delete(write));
    pending.add(write);
  }

  return {
    async create({ organizationId, name, endpointIds, scopes, permissions = [], variables, ...given }) {
      const { allowedNetworks, expiresAt, createdBy } = given;
      check({ name, endpointIds, scopes, allowedNetworks });
      const token = makeToken("agt");
      const id = await store.transaction(async (transaction) => {
        const where = { organizationId, name };
        const agent = (await agents.findOne({ where, transaction })) ?? (await agents.create(where, { transaction }));
        const row = await agentTokens.create(
          {
            organizationId,
            agentId: agent.id,
            name,
            hash: hashToken(token),
            last4: token.slice(-4),
            scopes: scopes.join(" "),
            permissions: permissions.length === 0 ? null : permissions.join(" "),
            endpointIds: [...endpointIds],
            variables: { ...variables },
            allowedNetworks: allowedNetworks === undefined ? null : [...allowedNetworks],
            expiresAt: expiresAt ?? null,
            createdBy,
            createdAt: new Date(clock()),
          },
          { transaction },
        );
        return row.id;
      });
      return { token, id };
    },

    async list(organizationId) {
      const rows = await agentTokens.findAll({ where: { organizationId }, order: [["id", "ASC"]] });
      return rows.map((row) => {
        const { hash: _hash, scopes, permissions, ...shown } = row.get({ plain: true });
        return { ...shown, scopes: [...parseScopes(scopes)], permissions: [...permissionsOf(permissions)] };
      });
    },

    async revoke(organizationId, idOrName) {
      const where = { organizationId, revokedAt: null, [Op.or]: [{ id: idOrName }, { name: idOrName }] };
      return revokeAll(await agentTokens.findAll({ where }));
    },

    async revokeOwn(organizationId, personId) {
      const own = await agents.findAll({ where: { organizationId, personId } });
      const agentId = own.map(({ id }) => id);
      return revokeAll(await agentTokens.findAll({ where: { agentId, revokedAt: null } }));
    },

    async verify(token, from) {
      return (await identify(token, from))?.principal;
    },

    identify,

    async close() {
      unsubscribe();
      await Promise.all(pending);
    },
  };

  async function identify(token: string, { ip }: { ip?: string }): Promise<TokenHolder | undefined> {
    if (!isToken(token, "agt", "pat")) return undefined;
    const hash = hashToken(token);
    const now = clock();
    const cached = cache.get(hash, now);
    const known = cached === undefined ? await loadOnce(hash) : cached.value;
    if (known === undefined || clock() >= known.expiresAt) return undefined;
    if (known.networks !== null && !isWithin(ip, known.networks)) return undefined;
    touch(known.principal.tokenId, now, ip);
    return known;
  }
}

function permissionsOf(text: string | null): Set<Permission> {
  const words = new Set(text?.split(" "));
  return new Set(PERMISSIONS.filter((permission) => words.has(permission)));
}

function check(
  token: Pick<NewAgentToken, "name" | "endpointIds" | "scopes"> & { allowedNetworks: readonly string[] | undefined },
): void {
  const refuse = (text: string): never => {
    throw new JackfieldError("config_invalid", { text });
  };
  if (token.name.trim() !== token.name || token.name === "" || [...token.name].length > 128) {
    refuse("A token's name has 1 to 128 characters and no blanks at its ends.");
  }
  if (token.endpointIds.length === 0) refuse("A token names at least one endpoint.");
  if (token.scopes.length === 0) refuse("A token has at least one scope.");
  const wrong = token.allowedNetworks?.find((network) => parseRange(network) === undefined);
  if (wrong !== undefined) refuse(`${JSON.stringify(wrong)} is neither an address nor a network.`);
}

function knownOf(row: AgentTokenRow, agentName: string, now: number): Known | undefined {
  const expiresAt = row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
  if (row.revokedAt !== null || expiresAt <= now) return undefined;
  const principal: Principal = {
    kind: "agent",
    organizationId: row.organizationId,
    issuer: AGENT_ISSUER,
    subject: row.agentId,
    name: agentName,
    key: principalKey(AGENT_ISSUER, row.agentId),
    scopes: parseScopes(row.scopes),
    tokenId: row.id,
    clientKey: clientKey(row.id),
    endpointIds: Object.freeze(row.endpointIds),
    variables: Object.freeze(row.variables),
  };
  return {
    principal: Object.freeze(principal),
    permissions: permissionsOf(row.permissions),
    role: undefined,
    expiresAt,
    networks: row.allowedNetworks,
  };
}

/** `::ffff:a.b.c.d` counts as a.b.c.d: that is how a dual-stack socket names an IPv4 peer. */
function isWithin(ip: string | undefined, networks: readonly string[]): boolean {
  if (ip === undefined || !ipaddr.isValid(ip)) return false;
  const address = ipaddr.process(ip);
  return networks.some((network) =>
    parseRange(network)?.some((range) => range[0].kind() === address.kind() && address.match(range[0], range[1])),
  );
}
