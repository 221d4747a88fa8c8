/** The members of an organization: who they are, what they may, and how their access ends. */
import type { Transaction } from "sequelize";
import { JackfieldError } from "../errors.ts";
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import type { IdentityRow } from "../store/models/identities.ts";
import { BY_HAND, checkGroups, type MemberGroup, namesOf, setGroups } from "./groups.ts";
import { type Person, withoutHash } from "./people.ts";
import { noteChange, noteRefusal } from "./people-audit.ts";
import { type Actor, demand, type Role } from "./permissions.ts";
import type { WebSessions } from "./web-sessions.ts";

/** A member as lists show them. */
export interface Member {
  readonly person: Person;
  readonly role: Role;
  /** Where each group comes from: empty by hand, else the id of a sign-in provider. */
  readonly groups: readonly MemberGroup[];
  /** With what they may sign in, beside a password. */
  readonly identities: readonly Pick<IdentityRow, "id" | "provider" | "label">[];
  readonly hasPassword: boolean;
  /** Whether they belong to no other organization. */
  readonly onlyHere: boolean;
}

/** What else a person's access consists of. Each ends all of one organization and returns how many ended. */
export interface OtherAccess {
  /** What they allowed clients. */
  endGrants(organizationId: string, personId: string): Promise<number>;
  /** The tokens of agents that are their own. */
  endTokens(organizationId: string, personId: string): Promise<number>;
  /** What they signed in to: deleted here, and revoked at the services that offer it. */
  endAccounts(organizationId: string, personId: string): Promise<number>;
  /** Has every process look at a person's tokens anew. */
  changed(personId: string): Promise<void>;
}

/** How much ended with a membership. */
export interface Ended {
  readonly sessions: number;
  readonly grants: number;
  readonly tokens: number;
  readonly accounts: number;
}

export interface Members {
  /** Oldest first. */
  list(organizationId: string): Promise<Member[]>;
  /** Throws `person_unknown`. */
  get(organizationId: string, personId: string): Promise<Member>;
  /** Throws `permission_missing`, `person_unknown`, and `last_admin` where nobody else could administer. */
  changeRole(actor: Actor, organizationId: string, personId: string, role: Role): Promise<void>;
  /** The groups by hand; those of sign-ins stay. Throws `permission_missing`, `person_unknown`, `invalid_people`. */
  setGroups(actor: Actor, organizationId: string, personId: string, names: readonly string[]): Promise<void>;
  /**
   * Ends a membership and everything that came of it. Whoever belongs to no organization any more cannot sign in until
   * somebody invites them. Throws `permission_missing`, `person_unknown`, `last_admin`.
   */
  remove(actor: Actor, organizationId: string, personId: string): Promise<Ended>;
  /** Signs a member out everywhere; returns of how many browsers. Throws `permission_missing`, `person_unknown`. */
  endSessions(actor: Actor, organizationId: string, personId: string): Promise<number>;
}

export interface MembersOptions {
  readonly store: Store;
  readonly audit: Audit;
  readonly sessions: Pick<WebSessions, "endAll">;
  readonly other: OtherAccess;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export function createMembers({ store, audit, sessions, other, clock }: MembersOptions): Members {
  const { members, people, memberGroups } = store.models;

  async function get(organizationId: string, personId: string): Promise<Member> {
    const [member] = await listMembers(store, organizationId, personId);
    if (member === undefined) throw new JackfieldError("person_unknown");
    return member;
  }

  /** Whether somebody else who may sign in is an admin. The organization's row keeps two changes from crossing. */
  async function hasOtherAdmin(organizationId: string, personId: string, transaction: Transaction): Promise<boolean> {
    await store.models.organizations.findByPk(organizationId, { transaction, lock: transaction.LOCK.UPDATE });
    const admins = await members.findAll({ where: { organizationId, role: "admin" }, transaction });
    const others = admins.map((row) => row.personId).filter((id) => id !== personId);
    return (await people.count({ where: { id: others, disabledAt: null }, transaction })) > 0;
  }

  /** Checks the actor, and notes what is refused. */
  async function allowed(
    actor: Actor,
    organizationId: string,
    personId: string,
    change: "member_role_changed" | "member_groups_changed" | "member_removed" | "sessions_ended",
  ): Promise<Member> {
    try {
      demand(actor, organizationId, "members:write");
    } catch (error) {
      noteRefusal(audit, actor, change, { organizationId, reason: "without the permission members:write" });
      throw error;
    }
    return get(organizationId, personId);
  }

  function lastAdmin(actor: Actor, change: "member_role_changed" | "member_removed", organizationId: string): never {
    noteRefusal(audit, actor, change, { organizationId, reason: "the last admin of the organization" });
    throw new JackfieldError("last_admin");
  }

  return {
    list: (organizationId) => listMembers(store, organizationId),
    get,

    async changeRole(actor, organizationId, personId, role) {
      const member = await allowed(actor, organizationId, personId, "member_role_changed");
      if (member.role === role) return;
      const changed = await store.transaction(async (transaction) => {
        if (role !== "admin" && !(await hasOtherAdmin(organizationId, personId, transaction))) return false;
        await members.update({ role }, { where: { organizationId, personId }, transaction });
        return true;
      });
      if (!changed) lastAdmin(actor, "member_role_changed", organizationId);
      const reason = `${member.person.username}: ${member.role} to ${role}`;
      noteChange(audit, actor, "member_role_changed", { organizationId, reason });
      await other.changed(personId);
    },

    async setGroups(actor, organizationId, personId, wanted) {
      const member = await allowed(actor, organizationId, personId, "member_groups_changed");
      const names = checkGroups(wanted);
      const groups = { organizationId, personId, source: BY_HAND, names };
      if (!(await store.transaction((transaction) => setGroups(store, groups, transaction)))) return;
      const before = namesOf(member.groups.filter(({ source }) => source === BY_HAND));
      const reason = `${member.person.username}: ${before.join(", ") || "none"} to ${names.join(", ") || "none"}`;
      noteChange(audit, actor, "member_groups_changed", { organizationId, reason });
      await other.changed(personId);
    },

    async remove(actor, organizationId, personId) {
      const { person, role } = await allowed(actor, organizationId, personId, "member_removed");
      const removed = await store.transaction(async (transaction) => {
        if (role === "admin" && !(await hasOtherAdmin(organizationId, personId, transaction))) return false;
        const where = { organizationId, personId };
        await members.destroy({ where, transaction });
        await memberGroups.destroy({ where, transaction });
        if ((await members.count({ where: { personId }, transaction })) > 0) return true;
        await people.update({ disabledAt: new Date(clock()) }, { where: { id: personId }, transaction });
        return true;
      });
      if (!removed) lastAdmin(actor, "member_removed", organizationId);
      // The membership is gone: nothing new can begin. What there is ends, the quickest first.
      const ended = {
        sessions: await sessions.endAll(personId),
        grants: await other.endGrants(organizationId, personId),
        tokens: await other.endTokens(organizationId, personId),
        accounts: await other.endAccounts(organizationId, personId),
      };
      await other.changed(personId);
      const counts = Object.entries(ended).map(([what, many]) => `${many} ${what}`);
      noteChange(audit, actor, "member_removed", {
        organizationId,
        reason: `${person.username}; ended: ${counts.join(", ")}`,
      });
      return ended;
    },

    async endSessions(actor, organizationId, personId) {
      const { person } = await allowed(actor, organizationId, personId, "sessions_ended");
      const ended = await sessions.endAll(personId);
      noteChange(audit, actor, "sessions_ended", { organizationId, reason: `${person.username}: ${ended} browsers` });
      return ended;
    },
  };
}

/** The members of an organization, oldest first; of one person where that is named. */
export async function listMembers(store: Store, organizationId: string, personId?: string): Promise<Member[]> {
  const { members, people, memberGroups, identities } = store.models;
  const where = { organizationId, ...(personId === undefined ? {} : { personId }) };
  const [rows, groups] = [await members.findAll({ where }), await memberGroups.findAll({ where })];
  const ids = rows.map((row) => row.personId);
  const found = await people.findAll({ where: { id: ids }, order: [["id", "ASC"]] });
  const linked = await identities.findAll({ where: { personId: ids }, order: [["id", "ASC"]] });
  const all = await members.findAll({ where: { personId: ids } });
  return found.map((person) => ({
    person: withoutHash(person),
    role: rows.find((row) => row.personId === person.id)?.role ?? "member",
    groups: groups
      .filter((group) => group.personId === person.id)
      .map(({ name, source }) => ({ name, source }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    identities: linked
      .filter((identity) => identity.personId === person.id)
      .map(({ id, provider, label }) => ({ id, provider, label })),
    hasPassword: person.passwordHash !== null,
    onlyHere: all.every((row) => row.personId !== person.id || row.organizationId === organizationId),
  }));
}
