/** `vault rotate`: seals everything again with the newest master key, while servers run. */

import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { JackfieldError } from "../errors.ts";
import type { Resealed } from "../vault/contract.ts";
import { addMasterKey } from "../vault/keyring.ts";
import { createResealer } from "../vault/reseal.ts";
import { openVaultOf, withEgress } from "./credentials.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { SEALED_COLUMNS } from "./sealed-columns.ts";
import { type Workplace, withWorkplace } from "./workplace.ts";

interface Options {
  newKey?: boolean;
  json?: boolean;
}

/** Until then every running server has heard that there is another key (the bus takes at most 250 ms). */
const HEARD_MS = 1000;
/** A server that had not heard yet may still have sealed something with the older key. */
const MOST_ROUNDS = 5;

export function addVaultRotate(parent: Command, io: CliIo): void {
  parent
    .command("rotate")
    .description("seal every stored secret again with the first master key; servers may go on running")
    .option("--new-key", "first put a new key before the others in the key file")
    .option("--json", "print JSON")
    .action((options: Options) =>
      withWorkplace(io, async (workplace) => {
        const { keyring, shared } = workplace;
        if (options.newKey === true) {
          makeKey(workplace);
          keyring.reread();
          await shared.bus.publish("keys", {});
          await delay(HEARD_MS);
        }
        const total = await withEgress(workplace, async (egress) => {
          const vault = await openVaultOf(workplace, io.env, egress);
          let all = await round(workplace, vault);
          for (let rounds = 1; all.resealed > 0 && rounds < MOST_ROUNDS; rounds += 1) {
            const more = await round(workplace, vault);
            all = { ...more, resealed: all.resealed + more.resealed };
            if (more.resealed === 0) break;
          }
          return all;
        });
        report(io, workplace, total, options.json === true);
      }),
    );
}

function makeKey({ config }: Workplace): void {
  if (config.databaseUrl !== undefined && !config.databaseUrl.startsWith("sqlite:")) {
    throw new JackfieldError("start_failed", {
      text: "Replicas share the master key: give all of them the new key behind the old one, then before it, then run vault rotate.",
    });
  }
  addMasterKey({ config, dataDir: config.dataDir });
}

/** Once over everything that is sealed, in the database and in the store of the vault. */
async function round(
  { store, keyring }: Workplace,
  vault: { reseal(): Promise<Resealed> },
): Promise<Resealed & { stored: number }> {
  const resealer = createResealer(keyring);
  for (const column of SEALED_COLUMNS) await column.rewrite(store, resealer.change);
  const { counts } = resealer;
  const elsewhere = await vault.reseal();
  // Where the vault is in the database its column was among them: all of it is current by now.
  const resealed = counts.resealed + elsewhere.resealed;
  return { resealed, current: counts.current, unreadable: counts.unreadable, stored: elsewhere.current };
}

function report(io: CliIo, { keyring }: Workplace, total: Resealed, json: boolean): void {
  const { resealed, unreadable } = total;
  const [keyId = "", ...older] = keyring.keyIds;
  if (json) printJson(io, { keyId, olderKeyIds: older, resealed, unreadable });
  else if (unreadable === 0) {
    const what =
      resealed === 0 ? "Everything was sealed" : `Sealed ${resealed} ${resealed === 1 ? "text" : "texts"} again`;
    io.out(`${what} with the master key ${keyId}.\n`);
    if (older.length > 0) io.out(`The older ${older.length === 1 ? "key" : "keys"} (${older.join(", ")}) may go.\n`);
  }
  if (unreadable > 0) {
    throw new JackfieldError("credential_unreadable", {
      text: `${unreadable} sealed ${unreadable === 1 ? "text is" : "texts are"} left that no master key here opens; ${resealed} sealed again with ${keyId}.`,
    });
  }
}
