/** What the files and the store say: connections, endpoints, credentials, pieces; read again where they changed. */
import type { Authoring } from "../connections/authoring.ts";
import { FILES } from "../connections/edits.ts";
import { configurationEnv } from "../connections/environment.ts";
import { loadConfigDir } from "../connections/files.ts";
import { publishConfig } from "../connections/publish.ts";
import { createRegistry } from "../connections/registry.ts";
import { createStoredCredentials } from "../connections/stored-credentials.ts";
import { vaultChoiceOf } from "../connections/vault-choice.ts";
import { createAuditRetention } from "../observe/audit-retention.ts";
import { openPieces } from "../pieces/open.ts";
import { openVault } from "../vault/open.ts";
import type { Foundation } from "./foundation.ts";

export type Configuration = Awaited<ReturnType<typeof openConfiguration>>;

/** @throws JackfieldError where a file is wrong, or the vault cannot be opened */
export async function openConfiguration(foundation: Foundation) {
  const { config, keyring, store, shared, egress, hop, log, clock } = foundation;
  const env = configurationEnv(process.env, config);
  const choice = vaultChoiceOf(loadConfigDir(config.configDir, env));
  const vault = await openVault({ choice, store, keyring, fetch: egress.upstreamFetch });
  const credentials = createStoredCredentials({ store, vault, bus: shared.bus, clock });
  const stopRereading = shared.bus.subscribe("keys", () => keyring.reread());
  let { jackfield } = loadConfigDir(config.configDir, env);
  const pieces = openPieces({
    ...{ dataDir: config.dataDir, shared, fetch: egress.upstreamFetch, hop, env, log, clock },
    activepieces: () => jackfield.activepieces,
  });
  const publish = async () => {
    const loaded = loadConfigDir(config.configDir, env);
    const { drafted } = await publishConfig({ store, bus: shared.bus }, pieces.withFree(loaded), FILES, clock);
    jackfield = loaded.jackfield;
    for (const { organization, environment } of drafted) {
      log.info({ organization, environment }, "what the files say waits in the draft until somebody publishes it");
    }
  };
  await publish();
  const registry = createRegistry({ store, bus: shared.bus, log, pieces: pieces.offers });
  await registry.ready;
  /** What is offered of the pieces stands in no table, so the registry has to be told. */
  const reload = async () => {
    await publish();
    await registry.reload();
  };
  const reread = () => {
    reload().catch((error: unknown) =>
      log.error({ reason: String(error) }, "the configuration could not be read again"),
    );
  };
  const stopReloading = [
    shared.bus.subscribe("reload", () => {
      reread();
      pieces.installMissing();
    }),
    shared.bus.subscribe("pieces", () => {
      pieces.offers.reread();
      reread();
    }),
  ];
  const authoring: Authoring = {
    store,
    bus: shared.bus,
    log,
    clock,
    oauthApps: () => Object.keys(jackfield.oauthApps),
  };
  return {
    ...{ env, credentials, pieces, registry, reload, authoring },
    /** `jackfield.yml`, as it was read last. */
    jackfield: () => jackfield,
    auditRetention: createAuditRetention({
      ...{ store, keyring, locks: shared.locks, log, clock },
      retention: () => jackfield.audit.retention,
    }),
    /** Ends the reading of what changes. */
    stopFollowing(): void {
      for (const stop of stopReloading) stop();
      stopRereading();
    },
  };
}
