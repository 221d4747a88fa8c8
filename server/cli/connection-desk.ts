/** What the connection commands need beyond the workplace: what is served, and sessions with the services. */

import { publicOrigin } from "../config.ts";
import { type Catalogue, createCatalogue } from "../connections/catalogue.ts";
import { configurationEnv } from "../connections/environment.ts";
import { loadConfigDir } from "../connections/files.ts";
import { createRegistry, type Registry } from "../connections/registry.ts";
import { type ConnectionSessions, createSessions } from "../connections/sessions.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { Egress } from "../egress/fetch.ts";
import { JackfieldError } from "../errors.ts";
import { HOP_HEADER } from "../mcp/hops.ts";
import { openPieces } from "../pieces/open.ts";
import { type AccountsDesk, openAccounts } from "../signin/open-accounts.ts";
import { readerOf } from "../signin/reader.ts";
import { VERSION } from "../version.ts";
import { connectionOf } from "./connections.ts";
import { openCredentials, withEgress } from "./credentials.ts";
import type { CliIo } from "./io.ts";
import { type Workplace, withWorkplace } from "./workplace.ts";

export interface ConnectionDesk extends Workplace, AccountsDesk {
  egress: Egress;
  registry: Registry;
  sessions: ConnectionSessions;
  catalogue: Catalogue;
}

/**
 * Opens what is published now. Nothing is fetched by itself: a command opens the sessions it uses, with child
 * processes of its own, and they end with it.
 */
export async function withConnections(io: CliIo, work: (desk: ConnectionDesk) => Promise<void>): Promise<void> {
  await withWorkplace(io, async (workplace) => {
    const { config, log, store, shared } = workplace;
    await withEgress(workplace, async (egress) => {
      const instance = await store.models.settings.findByPk("instance_id");
      const credentials = await openCredentials(workplace, io.env, egress);
      const hop = { header: HOP_HEADER, value: instance?.value ?? "cli" };
      const env = configurationEnv(io.env, config);
      const { jackfield } = loadConfigDir(config.configDir, env);
      const pieces = openPieces({
        ...{ dataDir: config.dataDir, shared, fetch: egress.upstreamFetch, hop, env: io.env, log },
        activepieces: () => jackfield.activepieces,
        clock: Date.now,
      });
      const registry = createRegistry({ store, bus: shared.bus, log, pieces: pieces.offers });
      await registry.ready;
      const desk = openAccounts({
        ...workplace,
        credentials,
        jackfield: () => jackfield,
        env,
        egress,
        publicUrl: () => publicOrigin(config),
        allowsLoopback: config.allowPrivateUpstreams.some(([base]) => base.range() === "loopback"),
        hop,
        pieceSignIn: (id) => pieces.offers.oauth(id),
        clock: Date.now,
      });
      const sessions = createSessions({
        store,
        log,
        fetch: egress.upstreamFetch,
        named: egress.namedBy,
        fetchStream: egress.upstreamStream,
        identity: { name: "jackfield", version: VERSION },
        hop,
        env,
        credentials,
        credentialFor: desk.credentialFor,
        pieces: pieces.host,
      });
      const { bus, locks } = shared;
      const reader = readerOf(desk.accounts);
      const catalogue = createCatalogue({ store, bus, locks, registry, sessions, readerOf: reader, log });
      try {
        await work({ ...workplace, ...desk, egress, registry, sessions, catalogue });
      } finally {
        await catalogue.close();
        await sessions.close();
        await pieces.close();
        desk.accounts.close();
        credentials.close();
        await registry.close();
      }
    });
  });
}

/** The connection a command names, as it is served. @throws JackfieldError `not_found` naming those there are */
export async function servedConnectionOf(
  { store, registry }: ConnectionDesk,
  slug: string,
  options: { organization: string; environment?: string },
): Promise<ServedConnection> {
  const { id } = await connectionOf(store, slug, options);
  const served = registry.connection(id);
  if (served === undefined) throw new JackfieldError("not_found", { text: `${slug} is not served any more.` });
  return served;
}
