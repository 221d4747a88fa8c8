/** `audit verify`: whether every event is there as it was written. */

import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import { JackfieldError } from "../errors.ts";
import { type Verification, verifyAudit } from "../observe/audit-verify.ts";
import type { Anchor } from "../observe/audit-verify-checkpoints.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  anchor?: Anchor;
  json?: boolean;
}

export function addAuditVerify(parent: Command, io: CliIo): void {
  parent
    .command("verify")
    .description("check that no event was changed, removed, moved or put in; exit code 1 and a line for each that was")
    .option("--anchor <anchor>", "an anchor that an earlier verification printed", parseAnchor)
    .option("--json", "print JSON: one line for each break, then a summary")
    .action((options: Options) =>
      withWorkplace(io, async ({ store, keyring, log }) => {
        const json = options.json === true;
        const result = await verifyAudit({
          store,
          keyring,
          log,
          ...(options.anchor !== undefined && { anchor: options.anchor }),
          onBreak: (line) => (json ? printJson(io, { break: line }) : io.out(`${line}\n`)),
        });
        if (json) printJson(io, { ...result, anchor: result.anchor && anchorText(result.anchor) });
        if (result.breaks > 0) {
          const breaks = result.breaks === 1 ? "one place" : `${result.breaks} places`;
          throw new JackfieldError("audit_broken", { text: `The audit is not as it was written, in ${breaks}.` });
        }
        if (!json) summarize(io, result);
      }),
    );
}

function summarize(io: CliIo, { events, chains, checkpoints, unchained, anchor }: Verification): void {
  const parts = [counted(events, "event"), counted(chains, "chain"), counted(checkpoints, "checkpoint")];
  io.out(`${parts.join(", ")}: all as they were written.\n`);
  if (unchained > 0) {
    io.out(`${counted(unchained, "event")} from before events were chained: nothing can be said about them.\n`);
  }
  if (anchor === undefined) return;
  io.out(`Anchor, to keep elsewhere and give to the next verification with --anchor:\n${anchorText(anchor)}\n`);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function anchorText({ number, signature }: Anchor): string {
  return `${number}:${signature}`;
}

function parseAnchor(text: string): Anchor {
  const match = /^(\d{1,9}):([0-9a-f]{64})$/.exec(text);
  if (match === null)
    throw new InvalidArgumentError("Give it as audit verify printed it: a number, a colon, 64 digits.");
  return { number: Number(match[1]), signature: match[2] ?? "" };
}
