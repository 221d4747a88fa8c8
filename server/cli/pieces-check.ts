/** `pieces check`: loads installed pieces in the sandbox again, and says which of their actions become valid tools. */

import type { Command } from "commander";
import { readDescription } from "../../adapters/pieces/description.ts";
import { toolOf } from "../../adapters/pieces/visible.ts";
import { SandboxError } from "../../sandbox/contract.ts";
import { JackfieldError } from "../errors.ts";
import { specOf } from "../pieces/names.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { pieceOf, withPieces } from "./pieces.ts";

export function addPiecesCheck(parent: Command, io: CliIo): void {
  parent
    .command("check")
    .description("load installed pieces in the sandbox and look at their actions")
    .argument("[piece...]", "name@version; all that are installed where none is named")
    .option("--json", "print JSON")
    .action((specs: string[], options: { json?: boolean }) =>
      withPieces(io, async ({ pieces }) => {
        const installed = pieces.store.read();
        const wanted = specs.length > 0 ? specs.map((spec) => specOf(pieceOf(spec))) : [...installed.keys()];
        const reports: { piece: string; loads: boolean; tools: number; reason?: string }[] = [];
        for (const piece of wanted) {
          const entry = installed.get(piece);
          if (entry === undefined) reports.push({ piece, loads: false, tools: 0, reason: "it is not installed" });
          else reports.push(await check(pieces, piece, entry.bundle));
        }
        if (options.json) printJson(io, reports);
        else {
          for (const { piece, loads, tools, reason } of reports) {
            io.out(loads ? `${piece}: loads, ${tools} tools\n` : `${piece}: ${reason}\n`);
          }
          if (reports.length === 0) io.out("No piece is installed.\n");
        }
        const failed = reports.filter(({ loads }) => !loads).length;
        if (failed > 0) {
          throw new JackfieldError("piece_refused", { text: `${failed} of ${reports.length} pieces do not load.` });
        }
      }),
    );
}

async function check(pieces: Parameters<Parameters<typeof withPieces>[1]>[0]["pieces"], piece: string, hash: string) {
  try {
    const { actions } = readDescription(await pieces.pool.describe({ piece, hash }));
    const tools = actions.filter((action) => toolOf(action) !== undefined).length;
    return { piece, loads: true, tools };
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return { piece, loads: false, tools: 0, reason: error.message };
  }
}
