/** The identities of people: who another server signs in here, by issuer and subject, never by a mail address. */
import { createHash } from "node:crypto";
import type { Transaction } from "sequelize";
import { UniqueConstraintError } from "sequelize";
import { FIRST_ORGANIZATION } from "../connections/files.ts";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { IdentityRow } from "../store/models/identities.ts";
import { setGroups, usableGroups } from "./groups.ts";
import { organizationIdOf } from "./organizations.ts";
import { claimVariables, type ExternalIdentity } from "./providers/identity.ts";
import type { SignInProvider } from "./providers/provider.ts";

export interface Identities {
  /** The row of an identity; undefined where nobody is linked to it. */
  find(identity: ExternalIdentity): Promise<IdentityRow | undefined>;
  /** Those of a person, oldest first. */
  list(personId: string): Promise<IdentityRow[]>;
  /** Links an identity to a person. Throws `identity_taken` where it is linked to anybody. */
  link(
    personId: string,
    provider: SignInProvider,
    identity: ExternalIdentity,
    transaction: Transaction,
  ): Promise<IdentityRow>;
  /** Takes over what this sign-in said: label, claims, groups. Returns whether anything that decides has changed. */
  refresh(row: IdentityRow, provider: SignInProvider, identity: ExternalIdentity): Promise<boolean>;
  /** False where the person has no such identity. */
  unlink(personId: string, id: string): Promise<boolean>;
}

/** One digest for issuer and subject: SHA-256 in hexadecimal. */
export function identityKey({ issuer, subject }: Pick<ExternalIdentity, "issuer" | "subject">): string {
  return createHash("sha256")
    .update(JSON.stringify([issuer, subject]))
    .digest("hex");
}

export function createIdentities({ store, clock }: { store: Store; clock: () => number }): Identities {
  const { identities, members } = store.models;

  /** The groups that a provider names, in the organization it is set up for. */
  async function takeGroups(
    personId: string,
    { file }: SignInProvider,
    names: readonly string[],
    transaction: Transaction,
  ): Promise<boolean> {
    const organizationId = await organizationIdOf(store, file.organization ?? FIRST_ORGANIZATION);
    if (organizationId === undefined) return false;
    const member = await members.findOne({ where: { organizationId, personId }, transaction });
    if (member === null) return false;
    return setGroups(store, { organizationId, personId, source: file.id, names: usableGroups(names) }, transaction);
  }

  return {
    async find(identity) {
      const row = await identities.findOne({ where: { identityKey: identityKey(identity) } });
      return row?.get({ plain: true });
    },
    async list(personId) {
      const rows = await identities.findAll({ where: { personId }, order: [["id", "ASC"]] });
      return rows.map((row) => row.get({ plain: true }));
    },
    async link(personId, provider, identity, transaction) {
      const now = new Date(clock());
      try {
        const row = await identities.create(
          {
            personId,
            provider: provider.file.id,
            identityKey: identityKey(identity),
            issuer: identity.issuer,
            subject: identity.subject,
            label: cut(identity.label),
            claims: claimVariables(identity, provider.file.claims),
            createdAt: now,
            lastUsedAt: now,
          },
          { transaction },
        );
        await takeGroups(personId, provider, identity.groups, transaction);
        return row.get({ plain: true });
      } catch (cause) {
        if (!(cause instanceof UniqueConstraintError)) throw cause;
        throw new JackfieldError("identity_taken", { cause });
      }
    },
    async refresh(row, provider, identity) {
      const claims = claimVariables(identity, provider.file.claims);
      const values = { provider: provider.file.id, label: cut(identity.label), claims, lastUsedAt: new Date(clock()) };
      return store.transaction(async (transaction) => {
        await identities.update(values, { where: { id: row.id }, transaction });
        const regrouped = await takeGroups(row.personId, provider, identity.groups, transaction);
        return regrouped || JSON.stringify(claims) !== JSON.stringify(row.claims);
      });
    },
    async unlink(personId, id) {
      return (await identities.destroy({ where: { id, personId } })) === 1;
    },
  };
}

function cut(label: string): string {
  return [...label.replaceAll(/[\p{Cc}\p{Cf}]/gu, "")].slice(0, 255).join("");
}
