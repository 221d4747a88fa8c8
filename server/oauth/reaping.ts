/**
 * Forgets what nobody uses: registrations (some clients register anew at every connection), tokens and codes past
 * their time, grants without a token. A client that was forgotten is told so (401 `invalid_client`) and registers anew.
 */
import { Op } from "sequelize";
import type { Log } from "../observe/log.ts";
import type { Locks } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { Grants } from "./grants.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A registration that no person authorized. */
const UNAUTHORIZED_MS = DAY;
/** One that was authorized, without a grant that still works. */
const UNUSED_MS = 90 * DAY;
/** A grant whose refresh tokens have all run out. */
const IDLE_GRANT_MS = 31 * DAY;
/** Ended grants stay visible for a while; a remembered consent is asked again after a time. */
const KEPT_MS = 30 * DAY;
const CONSENT_MS = 180 * DAY;
const BATCH = 500;

export interface Reaper {
  /** Sweeps where the last sweep is an hour ago. Never rejects: what goes wrong is logged. */
  sweepIfDue(): Promise<void>;
  /** Sweeps now, unless another process does. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export interface ReaperOptions {
  readonly store: Store;
  readonly grants: Grants;
  readonly locks: Locks;
  readonly log: Log;
  readonly clock: () => number;
}

export function createReaper({ store, grants, locks, log, clock }: ReaperOptions): Reaper {
  const { oauthClients, oauthArtifacts, oauthGrants, oauthConsents } = store.models;
  let last = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;

  const before = (ms: number) => ({ [Op.lt]: new Date(clock() - ms) });

  async function forgetClients(): Promise<number> {
    let gone = await oauthClients.destroy({ where: { authorizedAt: null, createdAt: before(UNAUTHORIZED_MS) } });
    const idle = { [Op.or]: [{ lastUsedAt: before(UNUSED_MS) }, { lastUsedAt: null }] };
    const rows = await oauthClients.findAll({ where: { authorizedAt: before(UNUSED_MS), ...idle }, limit: BATCH });
    for (const { id, clientKey } of rows) {
      const live = await oauthGrants.count({
        where: { clientKey, endedAt: null, expiresAt: { [Op.gt]: new Date(clock()) } },
      });
      if (live > 0) continue;
      gone += await oauthClients.destroy({ where: { id } });
      await oauthConsents.destroy({ where: { clientKey } });
    }
    return gone;
  }

  async function endIdleGrants(): Promise<void> {
    const idle = { [Op.or]: [{ lastUsedAt: before(IDLE_GRANT_MS) }, { lastUsedAt: null }] };
    const where = { endedAt: null, createdAt: before(IDLE_GRANT_MS), ...idle };
    for (const { grantKey } of await oauthGrants.findAll({ where, limit: BATCH })) {
      const left = { grantKey, expiresAt: { [Op.gt]: new Date(clock()) } };
      if ((await oauthArtifacts.count({ where: left })) === 0) await grants.end(grantKey, "unused");
    }
  }

  async function sweepNow(): Promise<void> {
    const release = await locks.acquire("oauth:sweep", { ttlMs: 60_000 });
    if (release === undefined) return;
    try {
      await endIdleGrants();
      await oauthArtifacts.destroy({ where: { expiresAt: before(HOUR) } });
      await oauthGrants.destroy({ where: { [Op.or]: [{ endedAt: before(KEPT_MS) }, { expiresAt: before(KEPT_MS) }] } });
      await oauthConsents.destroy({ where: { createdAt: before(CONSENT_MS) } });
      const forgotten = await forgetClients();
      if (forgotten > 0) log.info({ forgotten }, "registrations of clients that nobody uses were forgotten");
    } finally {
      await release();
    }
  }

  function sweep(): Promise<void> {
    last = clock();
    running ??= sweepNow().finally(() => {
      running = undefined;
    });
    return running;
  }

  async function sweepIfDue(): Promise<void> {
    if (clock() - last < HOUR) return;
    await sweep().catch((error: unknown) => log.error({ error }, "unused registrations could not be swept"));
  }

  const timer = setInterval(() => void sweepIfDue(), HOUR);
  timer.unref();
  return {
    sweep,
    sweepIfDue,
    async close() {
      clearInterval(timer);
      await Promise.allSettled([running]);
    },
  };
}
