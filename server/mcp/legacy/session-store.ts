/** The record of a legacy session: enough to serve it again after a restart or on another replica. */
import { createHash, randomBytes } from "node:crypto";
import { Op } from "sequelize";
import type { JsonObject } from "../../../adapters/contract.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import type { Store } from "../../store/database.ts";
import type { McpSessionRow } from "../../store/models/mcp-sessions.ts";

/** A session unused this long is gone; its client initializes again. */
export const SESSION_IDLE_MS = 30 * 24 * 3_600_000;
/** Last use is written at most this often. */
const TOUCH_EVERY_MS = 5 * 60_000;

export interface SessionStore {
  /** Makes the record and the id of a new session. */
  create(
    caller: GatewayCaller,
    initialize: JsonObject,
    protocolVersion: string,
  ): Promise<{ id: string; row: McpSessionRow }>;
  /** Undefined where the id is unknown, closed or too old. */
  find(id: string): Promise<McpSessionRow | undefined>;
  touch(row: McpSessionRow): Promise<void>;
  update(row: McpSessionRow, change: Partial<Pick<McpSessionRow, "logLevel" | "subscriptions">>): Promise<void>;
  close(row: McpSessionRow): Promise<void>;
  /** Deletes what is closed or too old. */
  sweep(): Promise<void>;
}

/** @param clock milliseconds since the epoch */
export function createSessionStore(store: Store, clock: () => number): SessionStore {
  const { mcpSessions } = store.models;
  const hash = (id: string) => createHash("sha256").update(id).digest("hex");
  return {
    async create(caller, initialize, protocolVersion) {
      const id = randomBytes(24).toString("base64url");
      const now = new Date(clock());
      const row = await mcpSessions.create({
        sessionHash: hash(id),
        organizationId: caller.principal.organizationId,
        endpointId: caller.endpoint.id,
        principalKey: caller.principal.key,
        clientKey: caller.principal.clientKey,
        protocolVersion,
        initialize,
        createdAt: now,
        lastSeenAt: now,
      });
      return { id, row };
    },
    async find(id) {
      const row = await mcpSessions.findOne({ where: { sessionHash: hash(id), closedAt: null } });
      return row && clock() - row.lastSeenAt.getTime() < SESSION_IDLE_MS ? row : undefined;
    },
    async touch(row) {
      const now = clock();
      if (now - row.lastSeenAt.getTime() < TOUCH_EVERY_MS) return;
      row.lastSeenAt = new Date(now);
      await mcpSessions.update({ lastSeenAt: row.lastSeenAt }, { where: { id: row.id } });
    },
    async update(row, change) {
      Object.assign(row, change);
      await mcpSessions.update(change, { where: { id: row.id } });
    },
    async close(row) {
      await mcpSessions.update({ closedAt: new Date(clock()) }, { where: { id: row.id } });
    },
    async sweep() {
      const old = new Date(clock() - SESSION_IDLE_MS);
      await mcpSessions.destroy({
        where: { [Op.or]: [{ lastSeenAt: { [Op.lt]: old } }, { closedAt: { [Op.not]: null } }] },
      });
    },
  };
}
