/**
 * Who may make, see, rotate and revoke which tokens: members their own, within what they may; whoever manages members
 * all of them. The pages, the API and the command line come here alike.
 */
import { mayUseEndpoint } from "../access/principals.ts";
import type { Registry } from "../connections/registry.ts";
import type { ServedEndpoint } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import type { AgentTokenSummary, AgentTokens } from "./agent-tokens.ts";
import { membershipOf } from "./membership.ts";
import { PEOPLE_ISSUER } from "./people.ts";
import { noteChange, noteRefusal, type PeopleChange } from "./people-audit.ts";
import { type Actor, demand, type Permission } from "./permissions.ts";
import type { Scope } from "./principal.ts";
import { TESTS } from "./token-holder.ts";
import { wrongNetwork } from "./token-networks.ts";

/** Milliseconds for which a rotated token goes on, at most and unless something else is said. */
export const LONGEST_OVERLAP_MS = 30 * 86_400_000;
export const OVERLAP_MS = 24 * 3_600_000;
const MOST_OWN = 50;
/** Names of variables that say who calls: they are ours to fill. */
const OURS = /^(?:principal|client)\./;

/** What somebody wants a token to be. */
export interface TokenWish {
  readonly name: string;
  /** Slugs. */
  readonly endpoints: readonly string[];
  readonly scopes: readonly Scope[];
  readonly permissions: readonly Permission[];
  readonly variables: Readonly<Record<string, string>>;
  /** Addresses and networks in CIDR notation; absent: anywhere. */
  readonly allowedNetworks?: readonly string[];
  /** Absent: never. */
  readonly expiresAt?: Date;
  /** Whether it sees the drafts of environments; needs `connections:write`. */
  readonly testing?: boolean;
}

/** Who does something, where: within `endpointIds` where a token does. */
export interface TokenActor {
  readonly actor: Actor;
  readonly organizationId: string;
  readonly endpointIds?: readonly string[];
}

export interface MadeToken {
  /** Shown this once. */
  readonly secret: string;
  readonly token: AgentTokenSummary;
}

export interface TokenDesk {
  /** Those the actor may see, oldest first: their own, or with `members:write` all. */
  list(by: TokenActor): Promise<AgentTokenSummary[]>;
  /** One of these. Throws `not_found`. */
  find(by: TokenActor, id: string): Promise<AgentTokenSummary>;
  /** A person's own token. Throws `permission_missing`, and `invalid_input` naming what is beyond the person. */
  createOwn(by: TokenActor, wish: TokenWish): Promise<MadeToken>;
  /** A token of an agent. Throws the same. */
  createForAgent(by: TokenActor, wish: TokenWish): Promise<MadeToken>;
  /** A successor, and `overlapMs` for the old one. Throws `not_found`, `conflict`. */
  rotate(by: TokenActor, id: string, overlapMs: number): Promise<MadeToken>;
  /** Throws `not_found`. */
  revoke(by: TokenActor, id: string): Promise<void>;
  /** The endpoints for which the actor may make a token, of their own or of an agent; as drafted for a testing one. */
  endpointsFor(by: TokenActor, kind: "own" | "agent", testing?: boolean): Promise<ServedEndpoint[]>;
}

export interface TokenDeskOptions {
  readonly store: Store;
  readonly tokens: AgentTokens;
  readonly registry: Pick<Registry, "environments" | "draft">;
  readonly audit: Audit;
  /** Days that a token may live; Infinity: also for ever. The operator's own are not bound to it. */
  readonly longestDays: () => number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

interface Problem {
  readonly field: string;
  readonly message: string;
}

export function createTokenDesk(options: TokenDeskOptions): TokenDesk {
  const { store, tokens, registry, audit, longestDays, clock } = options;

  const isOwn = ({ actor }: TokenActor, token: AgentTokenSummary): boolean =>
    actor.issuer === PEOPLE_ISSUER && token.personId === actor.subject;
  const managesAll = ({ actor, organizationId }: TokenActor): boolean => actor.may(organizationId, "members:write");

  async function find(by: TokenActor, id: string): Promise<AgentTokenSummary> {
    const token = await tokens.find(by.organizationId, id);
    if (token !== undefined && (isOwn(by, token) || managesAll(by))) return token;
    throw new JackfieldError("not_found", { text: "There is no such token." });
  }

  async function endpointsFor(
    { actor, organizationId, endpointIds }: TokenActor,
    kind: "own" | "agent",
    testing = false,
  ) {
    const all = registry
      .environments()
      .filter((environment) => environment.organizationId === organizationId)
      .map((environment) => (testing ? registry.draft(environment.id) : undefined) ?? environment)
      .flatMap(({ endpoints }) => endpoints)
      .filter(({ id }) => endpointIds === undefined || endpointIds.includes(id));
    if (kind === "agent") return all;
    const person = await store.models.people.findByPk(actor.subject);
    const membership = person && (await membershipOf(store, organizationId, person));
    return all.filter(({ config }) => membership && mayUseEndpoint(config.principals, membership));
  }

  /** Throws `invalid_input` where a wish goes beyond who makes it; else the ids of its endpoints. */
  async function check(by: TokenActor, wish: TokenWish, kind: "own" | "agent"): Promise<string[]> {
    const { actor, organizationId } = by;
    const problems: Problem[] = [];
    const refuse = (field: string, message: string) => problems.push({ field, message });
    const { testing = false } = wish;
    if (testing && !actor.may(organizationId, TESTS)) refuse("testing", `you do not have ${TESTS} yourself`);
    const reachable = await endpointsFor(by, kind, testing);
    const ids = wish.endpoints.map((slug) => reachable.find((endpoint) => endpoint.slug === slug)?.id);
    wish.endpoints.forEach((slug, index) => {
      if (ids[index] === undefined) refuse(`endpoints.${index}`, `there is no endpoint ${slug} for this token`);
    });
    if (ids.length === 0) refuse("endpoints", "name at least one endpoint");
    if (wish.scopes.length === 0) refuse("scopes", "name at least one scope");
    wish.permissions.forEach((permission, index) => {
      if (!actor.may(organizationId, permission))
        refuse(`permissions.${index}`, `you do not have ${permission} yourself`);
    });
    const names = Object.keys(wish.variables);
    // Guards compare arguments with them: whoever picks their own picks what they may send.
    if (kind === "own" && names.length > 0 && !managesAll(by))
      refuse("variables", "only an admin gives a token variables");
    for (const name of names) if (OURS.test(name)) refuse(`variables.${name}`, "is filled in by this server");
    const wrong = wrongNetwork(wish.allowedNetworks ?? []);
    if (wrong !== undefined) refuse("allowedNetworks", `${wrong} is neither an address nor a network`);
    if (wish.allowedNetworks?.length === 0)
      refuse("allowedNetworks", "would let it come from nowhere; leave it out for anywhere");
    const life = (wish.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - clock();
    if (life <= 0) refuse("expiresAt", "is past");
    if (actor.kind !== "operator" && life > longestDays() * 86_400_000) {
      refuse("expiresAt", `is later than ${longestDays()} days from now, which is the longest here`);
    }
    if (kind === "own" && (await ownLive(by)) >= MOST_OWN)
      refuse("name", `you have ${MOST_OWN} tokens; revoke one first`);
    if (problems.length > 0) {
      const text = problems.map(({ field, message }) => `${field}: ${message}`).join("; ");
      throw new JackfieldError("invalid_input", { text, data: { problems } });
    }
    return ids.flatMap((id) => (id === undefined ? [] : [id]));
  }

  async function ownLive({ actor, organizationId }: TokenActor): Promise<number> {
    const rows = await tokens.list(organizationId);
    const now = clock();
    return rows.filter(({ personId, revokedAt, expiresAt }) => {
      return personId === actor.subject && revokedAt === null && (expiresAt === null || expiresAt.getTime() > now);
    }).length;
  }

  async function create(by: TokenActor, wish: TokenWish, kind: "own" | "agent"): Promise<MadeToken> {
    const { actor, organizationId } = by;
    const endpointIds = await check(by, wish, kind);
    const { token: secret, id } = await tokens.create({
      ...{ organizationId, endpointIds, name: wish.name, scopes: wish.scopes, permissions: wish.permissions },
      variables: wish.variables,
      ...(wish.allowedNetworks === undefined ? {} : { allowedNetworks: wish.allowedNetworks }),
      ...(wish.expiresAt === undefined ? {} : { expiresAt: wish.expiresAt }),
      ...(wish.testing === true ? { testing: true } : {}),
      createdBy: actor.name,
      ...(kind === "own" ? { personId: actor.subject } : {}),
      ...creatorOf(actor),
    });
    const token = await find(by, id);
    note(by, "token_made", token);
    return { secret, token };
  }

  function note({ actor, organizationId }: TokenActor, change: PeopleChange, token: AgentTokenSummary): void {
    const { id, name, personId, scopes, permissions, testing } = token;
    const whose = personId === null ? "an agent's" : "a person's own";
    const reason = `${name} (${id}), ${whose}, with ${[...scopes, ...permissions, ...(testing ? ["drafts"] : [])].join(" ")}`;
    noteChange(audit, actor, change, { organizationId, reason });
  }

  return {
    async list(by) {
      const all = await tokens.list(by.organizationId);
      return managesAll(by) ? all : all.filter((token) => isOwn(by, token));
    },
    find,
    async createOwn(by, wish) {
      if (by.actor.issuer !== PEOPLE_ISSUER) throw new JackfieldError("permission_missing");
      return create(by, wish, "own");
    },
    async createForAgent(by, wish) {
      const { actor, organizationId } = by;
      if (!managesAll(by)) {
        const reason = "without the permission members:write";
        noteRefusal(audit, actor, "token_made", { organizationId, reason });
      }
      demand(actor, organizationId, "members:write");
      return create(by, wish, "agent");
    },
    async rotate(by, id, overlapMs) {
      const { actor, organizationId } = by;
      await find(by, id);
      const rotated = await tokens.rotate(organizationId, id, {
        overlapMs: Math.min(overlapMs, LONGEST_OVERLAP_MS),
        createdBy: actor.name,
        ...creatorOf(actor),
        within: (permission) => actor.may(organizationId, permission),
      });
      const token = await find(by, rotated.id);
      note(by, "token_rotated", token);
      return { secret: rotated.token, token };
    },
    async revoke(by, id) {
      const token = await find(by, id);
      await tokens.revoke(by.organizationId, id);
      note(by, "token_revoked", token);
    },
    endpointsFor,
  };
}

/** What a token may over time depends on the person who made it; the operator stays, and so does what is theirs. */
function creatorOf(actor: Actor): { creatorId?: string } {
  return actor.issuer === PEOPLE_ISSUER ? { creatorId: actor.subject } : {};
}
