/**
 * Bearer tokens of agents, and of people for their own programs: stored, listed, rotated, revoked and verified. Only
 * hashes are stored. Who may make which is decided in `token-desk.ts`.
 */
import { Op } from "sequelize";
import type { Log } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import { type Bus, TOPICS } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { AgentTokenRow } from "../store/models/agent-tokens.ts";
import type { Permission } from "./permissions.ts";
import { type Principal, parseScopes, type Scope } from "./principal.ts";
import { createTokenCache } from "./token-cache.ts";
import { hashToken, isToken, makeToken } from "./token-format.ts";
import { holderOf, permissionsOf, TESTS, type TokenHolder } from "./token-holder.ts";
import { isWithin, wrongNetwork } from "./token-networks.ts";

export { AGENT_ISSUER, type TokenHolder } from "./token-holder.ts";

/** How often the time of a token's last use is written. */
const TOUCH_MS = 60_000;
/** The agent behind a person's own tokens; no agent of the organization may be called so. */
const PERSONAL = "person:";

export interface NewAgentToken {
  organizationId: string;
  /** Name of the agent, where one that exists gets a further token; of a person's own token what it is for. */
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
  /** The person whose own it is; absent: an agent's. */
  personId?: string;
  /** The person who makes it; absent: the operator. */
  creatorId?: string;
  /** Whether it sees the drafts of environments. */
  testing?: boolean;
}

/** A token as lists show it. */
export type AgentTokenSummary = Omit<AgentTokenRow, "hash" | "scopes" | "permissions" | "testing"> & {
  scopes: Scope[];
  permissions: Permission[];
  testing: boolean;
};

export interface Rotation {
  /** Milliseconds for which the old one keeps working, as far as it would have. */
  readonly overlapMs: number;
  readonly createdBy: string;
  readonly creatorId?: string;
  /** What the successor may at the API, at most; it tests only where it may `connections:write`. */
  readonly within: (permission: Permission) => boolean;
}

export interface AgentTokens {
  /** The token is returned here and never again. Throws `config_invalid`. */
  create(token: NewAgentToken): Promise<{ token: string; id: string }>;
  /**
   * Makes a successor that is alike and lives as long as the old one was to live. Throws `not_found` where there is no
   * such live token and `conflict` where it has a successor.
   */
  rotate(organizationId: string, id: string, rotation: Rotation): Promise<{ token: string; id: string }>;
  /** All of an organization, oldest first, the revoked and expired ones included. */
  list(organizationId: string): Promise<AgentTokenSummary[]>;
  /** One of an organization. */
  find(organizationId: string, id: string): Promise<AgentTokenSummary | undefined>;
  /** Ends one token by its id or all of an agent by its name; returns how many. Other processes follow within 1 s. */
  revoke(organizationId: string, idOrName: string): Promise<number>;
  /** Ends every token that is a member's own; returns how many. */
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
    const holder = row === null ? undefined : await holderOf(store, row, clock());
    const expiresAt = row?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    const known = holder && row ? { ...holder, expiresAt, networks: row.allowedNetworks } : undefined;
    // A revocation that came in meanwhile must win over a row that was read before it.
    if (generation === cache.generation) cache.set(hash, known, clock(), expiresAt);
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

  return {
    async create(given) {
      check(given);
      const { organizationId, name, endpointIds, scopes, permissions = [], variables, personId } = given;
      const token = makeToken(personId === undefined ? "agt" : "pat");
      const id = await store.transaction(async (transaction) => {
        const where = { organizationId, name: personId === undefined ? name : `${PERSONAL}${personId}` };
        const agent =
          (await agents.findOne({ where, transaction })) ??
          (await agents.create({ ...where, personId: personId ?? null }, { transaction }));
        const row = await agentTokens.create(
          {
            ...{ organizationId, agentId: agent.id, name, hash: hashToken(token), last4: token.slice(-4) },
            scopes: scopes.join(" "),
            permissions: permissions.length === 0 ? null : permissions.join(" "),
            endpointIds: [...endpointIds],
            variables: { ...variables },
            allowedNetworks: given.allowedNetworks === undefined ? null : [...given.allowedNetworks],
            expiresAt: given.expiresAt ?? null,
            createdBy: given.createdBy,
            createdAt: new Date(clock()),
            personId: personId ?? null,
            creatorId: given.creatorId ?? null,
            testing: given.testing === true ? 1 : null,
          },
          { transaction },
        );
        return row.id;
      });
      return { token, id };
    },

    async rotate(organizationId, id, { overlapMs, createdBy, creatorId, within }) {
      const now = clock();
      const rotated = await store.transaction(async (transaction) => {
        const old = await agentTokens.findOne({ where: { organizationId, id, revokedAt: null }, transaction });
        if (old === null || (old.expiresAt !== null && old.expiresAt.getTime() <= now)) {
          throw new JackfieldError("not_found", { text: "There is no such token that works." });
        }
        const token = makeToken(old.personId === null ? "agt" : "pat");
        const lifeMs = old.expiresAt === null ? undefined : old.expiresAt.getTime() - old.createdAt.getTime();
        const overlap = now + overlapMs;
        const ends = old.expiresAt === null ? overlap : Math.min(overlap, old.expiresAt.getTime());
        const values = { rotatedAt: new Date(now), expiresAt: new Date(ends) };
        const where = { id, revokedAt: null, rotatedAt: null };
        const [claimed] = await agentTokens.update(values, { where, transaction });
        if (claimed !== 1) throw new JackfieldError("conflict", { text: "The token has a successor already." });
        const { id: _id, lastUsedAt: _at, lastUsedIp: _ip, ...alike } = old.get({ plain: true });
        const permissions = [...permissionsOf(old.permissions)].filter(within);
        const { id: successor } = await agentTokens.create(
          {
            ...alike,
            ...{ hash: hashToken(token), last4: token.slice(-4), rotatedFrom: id, rotatedAt: null, createdBy },
            permissions: permissions.length === 0 ? null : permissions.join(" "),
            creatorId: creatorId ?? null,
            testing: within(TESTS) ? alike.testing : null,
            createdAt: new Date(now),
            expiresAt: lifeMs === undefined ? null : new Date(now + lifeMs),
          },
          { transaction },
        );
        return { token, id: successor };
      });
      // The old one's end moved: nobody may go by what they remember of it.
      await bus.publish(TOPICS.tokens, {});
      return rotated;
    },

    async list(organizationId) {
      const rows = await agentTokens.findAll({ where: { organizationId }, order: [["id", "ASC"]] });
      return rows.map((row) => summaryOf(row.get({ plain: true })));
    },

    async find(organizationId, id) {
      const row = await agentTokens.findOne({ where: { organizationId, id } });
      return row === null ? undefined : summaryOf(row.get({ plain: true }));
    },

    async revoke(organizationId, idOrName) {
      // A person's own tokens are named by the person: the name of an agent must not end them.
      const named = [{ id: idOrName }, { name: idOrName, personId: null }];
      return revokeAll(await agentTokens.findAll({ where: { organizationId, revokedAt: null, [Op.or]: named } }));
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
}

function summaryOf({ hash: _hash, scopes, permissions, testing, ...shown }: AgentTokenRow): AgentTokenSummary {
  return {
    ...shown,
    testing: testing === 1,
    scopes: [...parseScopes(scopes)],
    permissions: [...permissionsOf(permissions)],
  };
}

function check({ name, endpointIds, scopes, allowedNetworks = [], personId }: NewAgentToken): void {
  const refuse = (text: string): never => {
    throw new JackfieldError("config_invalid", { text });
  };
  if (name.trim() !== name || name === "" || [...name].length > 128) {
    refuse("A token's name has 1 to 128 characters and no blanks at its ends.");
  }
  if (personId === undefined && name.startsWith(PERSONAL)) refuse(`No agent's name begins with ${PERSONAL}`);
  if (endpointIds.length === 0) refuse("A token names at least one endpoint.");
  if (scopes.length === 0) refuse("A token has at least one scope.");
  const wrong = wrongNetwork(allowedNetworks);
  if (wrong !== undefined) refuse(`${JSON.stringify(wrong)} is neither an address nor a network.`);
}
