/** The health of a connection, asked now. */
import type { Health } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import { failureOf } from "./catalogue.ts";
import { ensureState } from "./memory.ts";
import type { ConnectionSessions } from "./sessions.ts";
import type { ServedConnection } from "./types.ts";

/** Asks the upstream how it is and stores the answer. */
export async function checkConnection(
  { store, sessions, clock = Date.now }: { store: Store; sessions: ConnectionSessions; clock?: () => number },
  connection: ServedConnection,
): Promise<{ state: "healthy" | "unhealthy"; code?: string; message?: string }> {
  const health = await sessions
    .use(connection, undefined, (session): Promise<Health> => session.check())
    .catch((error: unknown) => {
      const failure = failureOf(error);
      if (failure === undefined) throw error;
      return { state: "unhealthy" as const, ...failure };
    });
  await ensureState(store, connection.id);
  await store.models.connectionStates.update(
    {
      health: health.state,
      healthCode: health.code ?? null,
      healthMessage: health.message?.slice(0, 2000) ?? null,
      checkedAt: new Date(clock()),
    },
    { where: { connectionId: connection.id } },
  );
  return health;
}
