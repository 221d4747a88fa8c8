/** `pieces remove`: takes an installed version away. Its connections have no tools until it is installed again. */

import type { Command } from "commander";
import { JackfieldError } from "../errors.ts";
import { specOf } from "../pieces/names.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { pieceOf, withPieces } from "./pieces.ts";

export function addPiecesRemove(parent: Command, io: CliIo): void {
  parent
    .command("remove")
    .description("take an installed version of a piece away")
    .argument("<piece>", "name@version")
    .option("--json", "print JSON")
    .action((spec: string, options: { json?: boolean }) =>
      withPieces(io, async ({ pieces, activepieces }) => {
        const piece = pieceOf(spec);
        if (!(await pieces.remove(piece))) {
          throw new JackfieldError("not_found", { text: `${specOf(piece)} is not installed.` });
        }
        const offered = (activepieces?.pieces ?? []).some(
          ({ name, version }) => name === piece.name && version === piece.version,
        );
        if (options.json) return printJson(io, { piece: specOf(piece), removed: true, offered });
        const note = offered ? " jackfield.yml offers it still: it is installed again at the next start." : "";
        io.out(`Removed ${specOf(piece)}.${note}\n`);
      }),
    );
}
