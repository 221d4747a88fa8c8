/** Links that do one thing once: make the first admin, invite somebody, set a new password. */
import { createHash, randomBytes } from "node:crypto";
import { Op, type Transaction } from "sequelize";
import type { Store } from "../store/database.ts";
import type { OneTimeLinkRow } from "../store/models/one-time-links.ts";
import type { Role } from "./permissions.ts";

export type OneTimeLink = Omit<OneTimeLinkRow, "hash">;

export interface NewLink {
  kind: OneTimeLinkRow["kind"];
  organizationId: string;
  role: Role;
  /** Whom it is for, where that person exists. */
  personId?: string | null;
  /** The name that the form of an invitation begins with. */
  name?: string | null;
  /** Groups that whoever takes an invitation is put in. */
  memberGroups?: string[] | null;
  /** Name of who made it. */
  createdBy?: string | null;
  /** Milliseconds for which it works. */
  forMs: number;
}

export interface MadeLink {
  readonly id: string;
  /** The secret part of its URL, 43 characters; only its hash is kept. */
  readonly secret: string;
  readonly expiresAt: Date;
}

export interface OneTimeLinks {
  /** Makes a link and ends the earlier ones for the same thing; of invitations there may be several. */
  create(link: NewLink): Promise<MadeLink>;
  /** What a link would do; undefined where it was used, ended or never existed. Looking uses nothing up. */
  find(secret: string): Promise<OneTimeLink | undefined>;
  /** The same by its id. */
  get(id: string): Promise<OneTimeLink | undefined>;
  /** Uses a link up, inside a transaction: false where another request was first, or the link ended. */
  claim(id: string, transaction: Transaction): Promise<boolean>;
  /** The invitations of an organization that still work, oldest first. */
  invitations(organizationId: string): Promise<OneTimeLink[]>;
  /** Ends an invitation that nobody took; false where there is no such one. */
  end(organizationId: string, id: string): Promise<boolean>;
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

export function createOneTimeLinks({ store, clock }: { store: Store; clock: () => number }): OneTimeLinks {
  const { oneTimeLinks } = store.models;
  const open = () => ({ usedAt: null, expiresAt: { [Op.gt]: new Date(clock()) } });

  const one = async (where: { hash: string } | { id: string }): Promise<OneTimeLink | undefined> => {
    const row = await oneTimeLinks.findOne({ where: { ...where, ...open() } });
    return row === null ? undefined : withoutHash(row.get({ plain: true }));
  };

  return {
    async create({ forMs, personId = null, ...link }) {
      const secret = randomBytes(32).toString("base64url");
      const createdAt = new Date(clock());
      const expiresAt = new Date(createdAt.getTime() + forMs);
      const row = { ...link, personId, hash: hashOf(secret), createdAt, expiresAt };
      const id = await store.transaction(async (transaction) => {
        if (link.kind !== "invite") {
          const where = { kind: link.kind, organizationId: link.organizationId, personId, ...open() };
          await oneTimeLinks.update({ expiresAt: createdAt }, { where, transaction });
        }
        return (await oneTimeLinks.create(row, { transaction })).id;
      });
      return { id, secret, expiresAt };
    },
    find: async (secret) => (SECRET.test(secret) ? one({ hash: hashOf(secret) }) : undefined),
    get: (id) => one({ id }),
    async claim(id, transaction) {
      const usedAt = new Date(clock());
      const [claimed] = await oneTimeLinks.update({ usedAt }, { where: { id, ...open() }, transaction });
      return claimed === 1;
    },
    async invitations(organizationId) {
      const where = { kind: "invite" as const, organizationId, ...open() };
      const rows = await oneTimeLinks.findAll({ where, order: [["id", "ASC"]] });
      return rows.map((row) => withoutHash(row.get({ plain: true })));
    },
    async end(organizationId, id) {
      const where = { id, organizationId, kind: "invite" as const, ...open() };
      const [ended] = await oneTimeLinks.update({ expiresAt: new Date(clock()) }, { where });
      return ended === 1;
    },
  };
}

/** Path of the page on which a link is used. */
export function linkPath(kind: OneTimeLinkRow["kind"], secret: string): string {
  return `/${kind === "invite" ? "invite" : "setup"}/${secret}`;
}

function withoutHash({ hash: _hash, ...link }: OneTimeLinkRow): OneTimeLink {
  return link;
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
