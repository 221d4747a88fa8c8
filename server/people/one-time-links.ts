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
  personId?: string;
  /** Milliseconds for which it works. */
  forMs: number;
}

export interface OneTimeLinks {
  /**
   * Makes a link and ends the earlier ones for the same thing. Returns the secret part of its URL, 43 characters;
   * only its hash is kept.
   */
  create(link: NewLink): Promise<{ secret: string; expiresAt: Date }>;
  /** What a link would do; undefined where it was used, ended or never existed. Looking uses nothing up. */
  find(secret: string): Promise<OneTimeLink | undefined>;
  /** Uses a link up, inside a transaction: false where another request was first, or the link ended. */
  claim(id: string, transaction: Transaction): Promise<boolean>;
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

export function createOneTimeLinks({ store, clock }: { store: Store; clock: () => number }): OneTimeLinks {
  const { oneTimeLinks } = store.models;
  const open = (now: Date) => ({ usedAt: null, expiresAt: { [Op.gt]: now } });
  return {
    async create({
      kind,
      organizationId,
      role,
      personId = null,
      forMs,
    }: Omit<NewLink, "personId"> & { personId?: string | null }) {
      const secret = randomBytes(32).toString("base64url");
      const now = new Date(clock());
      const expiresAt = new Date(now.getTime() + forMs);
      await store.transaction(async (transaction) => {
        if (kind !== "invite") {
          const where = { kind, organizationId, personId, ...open(now) };
          await oneTimeLinks.update({ expiresAt: now }, { where, transaction });
        }
        const row = { kind, hash: hashOf(secret), organizationId, role, personId, createdAt: now, expiresAt };
        await oneTimeLinks.create(row, { transaction });
      });
      return { secret, expiresAt };
    },
    async find(secret) {
      if (!SECRET.test(secret)) return undefined;
      const row = await oneTimeLinks.findOne({ where: { hash: hashOf(secret), ...open(new Date(clock())) } });
      if (row === null) return undefined;
      const { hash: _hash, ...link } = row.get({ plain: true });
      return link;
    },
    async claim(id, transaction) {
      const now = new Date(clock());
      const [claimed] = await oneTimeLinks.update({ usedAt: now }, { where: { id, ...open(now) }, transaction });
      return claimed === 1;
    },
  };
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
