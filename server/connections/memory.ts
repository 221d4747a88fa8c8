import type { AdapterContext, AdapterMemory } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";

/** What an adapter learned about an upstream, kept with the state of the connection. */
export function connectionMemory(store: Store, connectionId: string): AdapterContext["memory"] {
  const { connectionStates } = store.models;
  return {
    async read(): Promise<AdapterMemory | undefined> {
      return (await connectionStates.findByPk(connectionId, { attributes: ["memory"] }))?.memory ?? undefined;
    },
    async write(memory: AdapterMemory): Promise<void> {
      await ensureState(store, connectionId);
      await connectionStates.update({ memory }, { where: { connectionId } });
    },
  };
}

/** Makes the row of a connection's state where there is none yet. */
export async function ensureState(store: Store, connectionId: string): Promise<void> {
  const { connectionStates } = store.models;
  await connectionStates.findOrCreate({ where: { connectionId }, defaults: { connectionId, health: "untested" } });
}
