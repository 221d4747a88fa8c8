/**
 * What becomes of somebody whom another server vouches for: they come in, are linked to who is signed in, take an
 * invitation, are admitted, or are refused. Who it is, is decided by issuer and subject alone: a mail address says who
 * reads somebody's mail today, not whose account this is.
 */
import { FIRST_ORGANIZATION } from "../connections/files.ts";
import { JackfieldError } from "../errors.ts";
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import type { IdentityRow } from "../store/models/identities.ts";
import type { ExternalAttempt } from "./external-attempts.ts";
import { createIdentities, type Identities, identityKey } from "./identities.ts";
import type { Invitations } from "./invitations.ts";
import type { OneTimeLinks } from "./one-time-links.ts";
import { organizationIdOf } from "./organizations.ts";
import { createPerson, type Person, personActor, plainUsername, withoutHash } from "./people.ts";
import { noteChange } from "./people-audit.ts";
import type { ExternalIdentity } from "./providers/identity.ts";
import type { SignInProvider } from "./providers/provider.ts";
import { prepareSignInRecord } from "./sign-in-audit.ts";

export type ExternalAnswer =
  | { readonly kind: "in"; readonly person: Person; readonly identityId: string }
  /** Added to the person who is signed in. */
  | { readonly kind: "linked" }
  | { readonly kind: "refused"; readonly why: Refusal };

/**
 * `stranger`: not known here, and the provider admits nobody, or nobody of their domains. `disabled`: removed.
 * `taken`: linked to somebody else. `link_ended`: the invitation is used or too old.
 */
export type Refusal = "stranger" | "disabled" | "taken" | "link_ended";

export interface ExternalSignIn {
  /** Decides; what it decided stands in the audit. */
  enter(attempt: ExternalAttempt, provider: SignInProvider, identity: ExternalIdentity): Promise<ExternalAnswer>;
  /** Writes down an answer that was refused before anybody knew who it was about. */
  noteRefused(provider: SignInProvider, reason: string, identity?: ExternalIdentity): Promise<void>;
  readonly identities: Identities;
}

export interface ExternalSignInOptions {
  readonly store: Store;
  readonly audit: Audit;
  readonly links: OneTimeLinks;
  readonly invitations: Invitations;
  /** Has every process look at a person's tokens anew. */
  readonly changed: (personId: string) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Names to try for somebody new before a random ending is used. */
const MOST_NAMES = 20;

export function createExternalSignIn(options: ExternalSignInOptions): ExternalSignIn {
  const { store, audit, links, invitations, changed, clock } = options;
  const { people, members } = store.models;
  const identities = createIdentities({ store, clock });

  async function noteRefused(provider: SignInProvider, reason: string, identity?: ExternalIdentity): Promise<void> {
    const organizationId = await organizationIdOf(store, provider.file.organization ?? FIRST_ORGANIZATION);
    if (organizationId === undefined) return;
    audit.refused({
      organizationId,
      principalKind: "person",
      principalIssuer: identity?.issuer ?? `sign-in provider ${provider.file.id}`,
      principalSubject: identity?.subject ?? "",
      principalName: identity?.label ?? "",
      door: "sign_in",
      rule: provider.file.id,
      decision: "refuse",
      reason,
    });
  }

  async function refuse(
    why: Refusal,
    provider: SignInProvider,
    identity: ExternalIdentity,
    reason: string,
  ): Promise<ExternalAnswer> {
    await noteRefused(provider, reason, identity);
    return { kind: "refused", why };
  }

  /** Somebody who is linked comes in. */
  async function comeIn(
    row: IdentityRow,
    provider: SignInProvider,
    identity: ExternalIdentity,
  ): Promise<ExternalAnswer> {
    const person = await people.findByPk(row.personId);
    if (person === null || person.disabledAt !== null) {
      return refuse("disabled", provider, identity, `${person?.username ?? "the person"} was removed`);
    }
    if (await identities.refresh(row, provider, identity)) await changed(person.id);
    (await prepareSignInRecord({ store, audit }, person))(provider.file.id, true);
    return { kind: "in", person: withoutHash(person), identityId: row.id };
  }

  async function admit(provider: SignInProvider, identity: ExternalIdentity): Promise<ExternalAnswer> {
    const { file } = provider;
    const problem = admissionProblem(provider, identity);
    if (problem !== undefined) return refuse("stranger", provider, identity, problem);
    const organizationId = await organizationIdOf(store, file.organization ?? FIRST_ORGANIZATION);
    if (organizationId === undefined) {
      return refuse("stranger", provider, identity, `there is no organization ${file.organization}`);
    }
    const made = await madeOf(provider, identity);
    const row = await store.transaction(async (transaction) => {
      const now = new Date(clock());
      const person = { ...made, passwordHash: null, organizationId, role: file.role };
      const { id } = await createPerson(store, person, { now, transaction });
      return identities.link(id, provider, identity, transaction);
    });
    const reason = `${made.username} as ${file.role} through ${file.id}`;
    noteChange(audit, personActor({ id: row.personId, name: made.name }), "member_admitted", {
      organizationId,
      reason,
    });
    return comeIn(row, provider, identity);
  }

  /** What a person made of an identity is called. */
  async function madeOf({ file }: SignInProvider, identity: ExternalIdentity, wanted?: string | null) {
    const name = plainName(wanted ?? identity.name ?? identity.label);
    const username = await freeUsername(store, identity, file.id);
    return { username, name, email: identity.email ?? null };
  }

  async function link(
    attempt: ExternalAttempt,
    known: IdentityRow | undefined,
    provider: SignInProvider,
    identity: ExternalIdentity,
  ): Promise<ExternalAnswer> {
    const person = await people.findOne({ where: { id: attempt.personId ?? "", disabledAt: null } });
    if (person === null) return refuse("disabled", provider, identity, "the person was removed meanwhile");
    if (known !== undefined && known.personId === person.id) {
      if (await identities.refresh(known, provider, identity)) await changed(person.id);
      return { kind: "linked" };
    }
    if (known !== undefined) return refuse("taken", provider, identity, `not linked to ${person.username}: taken`);
    await store.transaction((transaction) => identities.link(person.id, provider, identity, transaction));
    const reason = `${person.username}: ${identity.label} at ${provider.file.id}`;
    for (const { organizationId } of await members.findAll({ where: { personId: person.id } })) {
      noteChange(audit, personActor(person), "identity_linked", { organizationId, reason });
    }
    await changed(person.id);
    return { kind: "linked" };
  }

  async function accept(
    attempt: ExternalAttempt,
    known: IdentityRow | undefined,
    provider: SignInProvider,
    identity: ExternalIdentity,
  ): Promise<ExternalAnswer> {
    const invitation = await links.get(attempt.linkId ?? "");
    if (invitation?.kind !== "invite") {
      return refuse("link_ended", provider, identity, "the invitation was used or is too old");
    }
    if (known !== undefined) {
      await invitations.acceptAs(invitation, known.personId);
      return comeIn(known, provider, identity);
    }
    if (invitation.personId !== null) {
      return refuse("taken", provider, identity, "the invitation is for somebody else");
    }
    const made = await madeOf(provider, identity, invitation.name);
    await invitations.acceptAsStranger(invitation, made, async (person, transaction) => {
      await identities.link(person.id, provider, identity, transaction);
    });
    const row = await identities.find(identity);
    if (row === undefined) throw new Error("an identity that was just linked is gone");
    return comeIn(row, provider, identity);
  }

  return {
    identities,
    noteRefused,
    async enter(attempt, provider, identity) {
      const known = await identities.find(identity);
      try {
        if (attempt.purpose === "link") return await link(attempt, known, provider, identity);
        if (attempt.purpose === "invite") return await accept(attempt, known, provider, identity);
        if (known !== undefined) return await comeIn(known, provider, identity);
        return await admit(provider, identity);
      } catch (error) {
        if (!(error instanceof JackfieldError)) throw error;
        if (error.code === "link_ended") return refuse("link_ended", provider, identity, error.message);
        // Two sign-ins of one stranger at once: the other one was first.
        if (error.code !== "identity_taken") throw error;
        return refuse("taken", provider, identity, `linked meanwhile (${identityKey(identity).slice(0, 8)})`);
      }
    },
  };
}

/** Why a stranger is not admitted; undefined where they are. */
export function admissionProblem({ file }: SignInProvider, identity: ExternalIdentity): string | undefined {
  if (file.admit === "everyone") return undefined;
  if (file.admit === "invited") return "not known here, and only the invited are admitted";
  const { domains } = file.admit;
  if (identity.domains.some((domain) => domains.includes(domain))) return undefined;
  return identity.email === undefined
    ? "not known here, and without a verified mail address"
    : `not known here, and of none of the admitted domains: ${identity.domains.join(", ") || "none"}`;
}

/**
 * A username that nobody has. It ends in the provider's id, so that no stranger can take one that an endpoint names
 * for somebody who is to come.
 */
async function freeUsername(store: Store, identity: ExternalIdentity, provider: string): Promise<string> {
  const plain = plainUsername(identity.login ?? identity.name ?? "")
    .replace(/@.*$/, "")
    .replaceAll(/[^a-z0-9._+-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .slice(0, 60);
  const stem = plain === "" ? "person" : plain;
  for (let number = 1; number <= MOST_NAMES; number += 1) {
    const username = `${stem}${number === 1 ? "" : `-${number}`}@${provider}`;
    if ((await store.models.people.count({ where: { username } })) === 0) return username;
  }
  return `${stem}-${identityKey(identity).slice(0, 12)}@${provider}`;
}

/** A stranger's name as it is kept. */
function plainName(name: string): string {
  const plain = name
    .normalize("NFC")
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, "")
    .trim();
  return [...plain].slice(0, 128).join("") || "Somebody";
}
