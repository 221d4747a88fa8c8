/** What people allowed clients: one grant for each time somebody said yes. Its end is the end of all its tokens. */
import { Op } from "sequelize";
import { type Bus, TOPICS } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { OAuthGrantRow } from "../store/models/oauth-grants.ts";
import type { NewRow } from "../store/models/table.ts";

/** Why a grant ended. */
export type EndReason =
  | "revoked"
  | "code_replayed"
  | "refresh_replayed"
  | "person_removed"
  | "client_removed"
  | "unused";

const TOUCH_MS = 60_000;

export interface Grants {
  /** Keeps a new grant; returns its id. */
  add(grant: Omit<NewRow<OAuthGrantRow>, "createdAt">): Promise<string>;
  /** A live grant by the digest of the library's id. */
  find(grantKey: string): Promise<OAuthGrantRow | undefined>;
  /** A live grant by its own id. */
  live(id: string): Promise<OAuthGrantRow | undefined>;
  isLive(grantKey: string): Promise<boolean>;
  /** Ends one; its tokens are dead everywhere within a second. Returns it where it was live. */
  end(grantKey: string, reason: EndReason): Promise<OAuthGrantRow | undefined>;
  /** Ends all that fit; returns how many. */
  endAll(where: { personId?: string; clientKey?: string; organizationId?: string }, reason: EndReason): Promise<number>;
  /** Live ones of an organization, of one person where given; newest first. */
  list(organizationId: string, personId?: string): Promise<OAuthGrantRow[]>;
  touch(id: string): Promise<void>;
}

export interface GrantsOptions {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: () => number;
  /** Called once for each grant that ended. */
  readonly onEnd: (grant: OAuthGrantRow, reason: EndReason) => void;
}

export function createGrants({ store, bus, clock, onEnd }: GrantsOptions): Grants {
  const { oauthGrants, oauthArtifacts } = store.models;
  const live = () => ({ endedAt: null, expiresAt: { [Op.gt]: new Date(clock()) } });

  async function find(grantKey: string): Promise<OAuthGrantRow | undefined> {
    const row = await oauthGrants.findOne({ where: { grantKey, ...live() } });
    return row?.get({ plain: true });
  }

  async function end(grantKey: string, reason: EndReason): Promise<OAuthGrantRow | undefined> {
    const grant = await find(grantKey);
    const [changed] = await oauthGrants.update(
      { endedAt: new Date(clock()), endReason: reason },
      { where: { grantKey, endedAt: null } },
    );
    await oauthArtifacts.destroy({ where: { [Op.or]: [{ grantKey }, { artifactKey: grantKey }] } });
    if (changed === 0 || grant === undefined) return undefined;
    await bus.publish(TOPICS.tokens, { id: grant.id });
    onEnd(grant, reason);
    return grant;
  }

  return {
    async add(grant) {
      const { id } = await oauthGrants.create({ ...grant, createdAt: new Date(clock()) });
      return id;
    },
    find,
    live: async (id) => (await oauthGrants.findOne({ where: { id, ...live() } }))?.get({ plain: true }),
    isLive: async (grantKey) => (await oauthGrants.count({ where: { grantKey, ...live() } })) > 0,
    end,
    async endAll(where, reason) {
      const rows = await oauthGrants.findAll({ where: { ...where, endedAt: null } });
      let ended = 0;
      for (const { grantKey } of rows) if ((await end(grantKey, reason)) !== undefined) ended += 1;
      return ended;
    },
    async list(organizationId, personId) {
      const where = { organizationId, ...live(), ...(personId === undefined ? {} : { personId }) };
      const rows = await oauthGrants.findAll({ where, order: [["id", "DESC"]] });
      return rows.map((row) => row.get({ plain: true }));
    },
    async touch(id) {
      const now = clock();
      const stale = { [Op.or]: [{ lastUsedAt: null }, { lastUsedAt: { [Op.lte]: new Date(now - TOUCH_MS) } }] };
      await oauthGrants.update({ lastUsedAt: new Date(now) }, { where: { id, ...stale } });
    },
  };
}
