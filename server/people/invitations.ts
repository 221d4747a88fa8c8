/**
 * Invitations and links for new passwords: one-time links that an admin copies and hands over, so that no mail server
 * is needed.
 */
import type { Transaction } from "sequelize";
import { JackfieldError } from "../errors.ts";
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import { BY_HAND, checkGroups, setGroups } from "./groups.ts";
import type { MadeLink, OneTimeLink, OneTimeLinks } from "./one-time-links.ts";
import type { Passwords } from "./password.ts";
import { createPerson, nameProblem, type Person, personActor, withoutHash } from "./people.ts";
import { noteChange, noteRefusal } from "./people-audit.ts";
import { type Actor, demand, type Role } from "./permissions.ts";
import { LINK_MS } from "./setup.ts";

/** Milliseconds for which an invitation works. */
export const INVITATION_MS = 7 * 24 * 3_600_000;

export interface NewInvitation {
  readonly organizationId: string;
  readonly role: Role;
  /** The name that the form begins with. */
  readonly name?: string;
  /** Groups that whoever takes it is put in. */
  readonly groups?: readonly string[];
  /** The only person who may take it, removed ones included; for the operator alone. */
  readonly personId?: string;
}

/** An invitation that nobody took yet. */
export type Invitation = Pick<
  OneTimeLink,
  "id" | "organizationId" | "role" | "name" | "memberGroups" | "personId" | "createdBy" | "createdAt" | "expiresAt"
>;

export interface Invitations {
  /** Its secret is returned here and never again. Throws `permission_missing`, `invalid_people`. */
  invite(actor: Actor, invitation: NewInvitation): Promise<MadeLink>;
  /** Those of an organization that still work, oldest first. */
  list(organizationId: string): Promise<Invitation[]>;
  /** Takes one back; false where there is no such one. Throws `permission_missing`. */
  end(actor: Actor, organizationId: string, id: string): Promise<boolean>;
  /**
   * A link with which a member chooses a new password. Throws `permission_missing`, `person_unknown`, and
   * `invalid_people` for a member of several organizations, whom one of them alone must not be able to become.
   */
  resetLink(actor: Actor, organizationId: string, personId: string): Promise<MadeLink>;
  /** Makes a person with a password of whoever opened it. Throws `link_ended`, `username_taken`, `busy`. */
  acceptAsNew(
    link: OneTimeLink,
    person: { readonly username: string; readonly name: string; readonly password: string },
  ): Promise<Person>;
  /**
   * Makes a person without a password, whom another server signs in. Throws `link_ended`, `username_taken`.
   * @param also what has to be done with it, or not at all
   */
  acceptAsStranger(
    link: OneTimeLink,
    person: Pick<Person, "username" | "name" | "email">,
    also: (person: Person, transaction: Transaction) => Promise<void>,
  ): Promise<Person>;
  /** The removed person that it is for comes back, with a new password. Throws `link_ended`, `busy`. */
  acceptReturning(link: OneTimeLink, password: string): Promise<Person>;
  /** A person who has just proved who they are joins, or comes back. Throws `link_ended`. */
  acceptAs(link: OneTimeLink, personId: string): Promise<Person>;
}

export interface InvitationsOptions {
  readonly store: Store;
  readonly audit: Audit;
  readonly links: OneTimeLinks;
  readonly passwords: Passwords;
  /** Has every process look at a person's tokens anew. */
  readonly changed: (personId: string) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export function createInvitations(options: InvitationsOptions): Invitations {
  const { store, audit, links, passwords, changed, clock } = options;
  const { members, people } = store.models;

  /** Uses the link up and makes the member, all or nothing. */
  async function accept(link: OneTimeLink, become: (transaction: Transaction) => Promise<Person>): Promise<Person> {
    const { organizationId, role } = link;
    const person = await store.transaction(async (transaction) => {
      if (!(await links.claim(link.id, transaction))) throw new JackfieldError("link_ended");
      const made = await become(transaction);
      const where = { organizationId, personId: made.id };
      const member = await members.findOne({ where, transaction });
      if (member === null) await members.create({ ...where, role }, { transaction });
      // An invitation adds; what somebody has already is taken away by hand only.
      else if (role === "admin") await member.update({ role }, { transaction });
      const groups = { ...where, source: BY_HAND, names: link.memberGroups ?? [] };
      if (groups.names.length > 0) await addGroups(groups, transaction);
      return made;
    });
    noteChange(audit, personActor(person), "invitation_accepted", {
      organizationId,
      reason: `${person.username} as ${role}; invited by ${link.createdBy ?? "somebody"}`,
    });
    await changed(person.id);
    return person;
  }

  /** Lets a person sign in again who was removed. */
  async function enable(
    personId: string,
    values: { passwordHash?: string },
    transaction: Transaction,
  ): Promise<Person> {
    const person = await people.findByPk(personId, { transaction, lock: transaction.LOCK.UPDATE });
    if (person === null) throw new JackfieldError("link_ended");
    await person.update({ ...values, disabledAt: null }, { transaction });
    return withoutHash(person);
  }

  async function addGroups(
    { names, ...of }: { organizationId: string; personId: string; source: string; names: string[] },
    transaction: Transaction,
  ): Promise<void> {
    const rows = await store.models.memberGroups.findAll({ where: of, transaction });
    const all = [...new Set([...rows.map(({ name }) => name), ...names])];
    await setGroups(store, { ...of, names: all }, transaction);
  }

  function checked(actor: Actor, organizationId: string, change: "invitation_made" | "reset_link_made"): void {
    try {
      demand(actor, organizationId, "members:write");
    } catch (error) {
      noteRefusal(audit, actor, change, { organizationId, reason: "without the permission members:write" });
      throw error;
    }
  }

  return {
    async invite(actor, { organizationId, role, name, groups = [], personId }) {
      checked(actor, organizationId, "invitation_made");
      // Whoever may name any person could tell which exist, in other organizations, too.
      if (personId !== undefined && actor.kind !== "operator") throw new JackfieldError("permission_missing");
      const problem = name === undefined ? undefined : nameProblem(name);
      if (problem !== undefined) throw new JackfieldError("invalid_people", { text: problem });
      const made = await links.create({
        kind: "invite",
        organizationId,
        role,
        name: name ?? null,
        memberGroups: checkGroups(groups),
        personId: personId ?? null,
        createdBy: actor.name,
        forMs: INVITATION_MS,
      });
      const reason = `${name ?? "somebody"} as ${role}`;
      noteChange(audit, actor, "invitation_made", { organizationId, reason });
      return made;
    },

    list: (organizationId) => links.invitations(organizationId),

    async end(actor, organizationId, id) {
      demand(actor, organizationId, "members:write");
      const ended = await links.end(organizationId, id);
      if (ended) noteChange(audit, actor, "invitation_ended", { organizationId, reason: id });
      return ended;
    },

    async resetLink(actor, organizationId, personId) {
      checked(actor, organizationId, "reset_link_made");
      const all = await members.findAll({ where: { personId } });
      const member = all.find((row) => row.organizationId === organizationId);
      const person = member && (await people.findOne({ where: { id: personId, disabledAt: null } }));
      if (!member || !person) throw new JackfieldError("person_unknown");
      if (all.length > 1 && actor.kind !== "operator") {
        const reason = `${person.username} belongs to other organizations, too`;
        noteRefusal(audit, actor, "reset_link_made", { organizationId, reason });
        throw new JackfieldError("invalid_people", {
          text: "This person belongs to other organizations, too. The operator of the server can make the link: people reset-link.",
        });
      }
      const link = { kind: "reset", organizationId, role: member.role, personId, createdBy: actor.name } as const;
      const made = await links.create({ ...link, forMs: LINK_MS });
      noteChange(audit, actor, "reset_link_made", { organizationId, reason: person.username });
      return made;
    },

    async acceptAsNew(link, { password, ...person }) {
      if (link.personId !== null) throw new JackfieldError("link_ended");
      // Outside of the transaction, which would keep others waiting for as long as a hash takes.
      const { organizationId, role } = link;
      const made = { ...person, passwordHash: await passwords.hash(password), organizationId, role };
      return accept(link, (transaction) => createPerson(store, made, { now: new Date(clock()), transaction }));
    },

    async acceptAsStranger(link, person, also) {
      if (link.personId !== null) throw new JackfieldError("link_ended");
      const { organizationId, role } = link;
      const values = { ...person, passwordHash: null, organizationId, role };
      return accept(link, async (transaction) => {
        const made = await createPerson(store, values, { now: new Date(clock()), transaction });
        await also(made, transaction);
        return made;
      });
    },

    async acceptReturning(link, password) {
      const passwordHash = await passwords.hash(password);
      return accept(link, (transaction) => enable(link.personId ?? "", { passwordHash }, transaction));
    },

    async acceptAs(link, personId) {
      if (link.personId !== null && link.personId !== personId) throw new JackfieldError("link_ended");
      return accept(link, (transaction) => enable(personId, {}, transaction));
    },
  };
}
