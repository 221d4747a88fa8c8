/**
 * Tasks of upstreams that outlive a call: what a handle stands for, and how an upstream tells that one went on.
 *
 * What an upstream tells is only a hint to ask it again, so a message that is forged or lost does no harm.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { Op, UniqueConstraintError } from "sequelize";
import { ulid } from "ulid";
import type { AdapterMemory, KeptTask, Log, TaskDesk } from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { Principal } from "../people/principal.ts";
import { type Bus, TOPICS } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { UpstreamTaskRow } from "../store/models/upstream-tasks.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, SealError, seal } from "../vault/seal.ts";

const DAY = 24 * 3_600_000;
/** A task that nobody used for so long is forgotten. */
const KEPT_MS = 30 * DAY;
const SWEEP_MS = 3_600_000;

/** Path of the address that upstreams call; the task's handle follows. */
export const TASK_CALLBACK_PATH = "/tasks/callback";

export interface TaskDesks {
  /** The tasks of one principal at one connection. */
  of(connection: Pick<ServedConnection, "id" | "organizationId">, principal: Pick<Principal, "key">): TaskDesk;
  /** An upstream says that a task went on. False where handle and secret do not belong together. */
  tell(handle: string, secret: string): Promise<boolean>;
  close(): void;
}

export interface TaskDesksOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly bus: Bus;
  /** Origin under which upstreams reach this server, without a closing slash. */
  readonly publicUrl: () => string;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** What the state of a task is sealed to: a row that was moved to another principal does not open. */
export function upstreamTaskAad(
  row: Pick<UpstreamTaskRow, "organizationId" | "connectionId" | "principalKey" | "id">,
): string {
  return `${row.organizationId}|${row.id}|task|${row.connectionId}|${row.principalKey}`;
}

export function createTaskDesks(options: TaskDesksOptions): TaskDesks {
  const { store, keyring, bus, publicUrl, log, clock } = options;
  const { upstreamTasks } = store.models;
  const sweep = setInterval(() => {
    upstreamTasks
      .destroy({ where: { expiresAt: { [Op.lt]: new Date(clock()) } } })
      .catch((error: unknown) => log.warn({ reason: String(error) }, "old tasks could not be forgotten"));
  }, SWEEP_MS);
  sweep.unref();

  return {
    of(connection, { key: principalKey }) {
      const own = { organizationId: connection.organizationId, connectionId: connection.id, principalKey };
      /** When each task was told of, as far as this call has seen. */
      const seen = new Map<string, number | undefined>();

      const kept = (row: UpstreamTaskRow): KeptTask | undefined => {
        try {
          const state: AdapterMemory = JSON.parse(open(keyring, row.sealedState, upstreamTaskAad(row)));
          seen.set(row.id, row.toldAt?.getTime());
          return { handle: row.id, kind: row.kind, state };
        } catch (error) {
          if (!(error instanceof SealError)) throw error;
          // Sealed with a key that is gone: as good as forgotten.
          return undefined;
        }
      };
      const sealedState = (id: string, state: AdapterMemory): string =>
        seal(keyring, JSON.stringify(state), upstreamTaskAad({ ...own, id }));
      const expiresAt = () => new Date(clock() + KEPT_MS);

      return {
        async keep({ kind, identity, state }) {
          const identityHash = sha256(JSON.stringify([connection.id, principalKey, kind, identity]));
          const renew = async (): Promise<KeptTask | undefined> => {
            const row = await upstreamTasks.findOne({ where: { identityHash } });
            if (row === null) return undefined;
            await row.update({ sealedState: sealedState(row.id, state), expiresAt: expiresAt() });
            return { handle: row.id, kind, state };
          };
          const known = await renew();
          if (known !== undefined) return known;
          const id = ulid();
          const createdAt = new Date(clock());
          const sealed = sealedState(id, state);
          const row = { ...own, id, kind, identityHash, sealedState: sealed, createdAt, expiresAt: expiresAt() };
          try {
            await upstreamTasks.create(row);
            return { handle: id, kind, state };
          } catch (error) {
            const other = error instanceof UniqueConstraintError ? await renew() : undefined;
            if (other === undefined) throw error;
            return other;
          }
        },
        async find(kind, handle) {
          const row = await upstreamTasks.findOne({ where: { id: handle, kind, ...own } });
          if (row === null || row.expiresAt.getTime() < clock()) return undefined;
          if (row.expiresAt.getTime() < clock() + KEPT_MS - DAY) await row.update({ expiresAt: expiresAt() });
          return kept(row);
        },
        async callback({ handle }) {
          const secret = randomBytes(32).toString("base64url");
          const url = `${publicUrl()}${TASK_CALLBACK_PATH}/${handle}`;
          await upstreamTasks.update({ secretHash: sha256(secret), toldAt: null }, { where: { id: handle, ...own } });
          seen.set(handle, undefined);
          return { url, secret };
        },
        async told({ handle }, signal) {
          if (signal.aborted) return;
          const { promise, resolve } = Promise.withResolvers<void>();
          // Before the look at the row, so that nothing is told in between. An empty message: one may have been lost.
          const unsubscribe = bus.subscribe(TOPICS.tasks, ({ id }) => {
            if (id === handle || id === undefined) resolve();
          });
          signal.addEventListener("abort", () => resolve(), { once: true });
          try {
            const row = await upstreamTasks.findOne({ where: { id: handle, ...own } });
            if (row?.toldAt?.getTime() !== seen.get(handle)) resolve();
            await promise;
            const now = await upstreamTasks.findOne({ where: { id: handle, ...own } });
            seen.set(handle, now?.toldAt?.getTime());
          } finally {
            unsubscribe();
          }
        },
      };
    },
    async tell(handle, secret) {
      if (!/^[0-9A-HJKMNP-TV-Z]{26}$/.test(handle)) return false;
      const row = await upstreamTasks.findByPk(handle);
      if (row?.secretHash == null || !isSame(row.secretHash, sha256(secret))) return false;
      await row.update({ toldAt: new Date(clock()) });
      await bus.publish(TOPICS.tasks, { id: handle });
      return true;
    },
    close() {
      clearInterval(sweep);
    },
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
