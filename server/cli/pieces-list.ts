/** `pieces list`: what is offered and installed; for one piece its actions and how it authenticates. */

import type { Command } from "commander";
import { credentialForms } from "../../adapters/pieces/auth.ts";
import type { Action } from "../../adapters/pieces/description.ts";
import { runsAlone } from "../../adapters/pieces/visible.ts";
import { JackfieldError } from "../errors.ts";
import type { OfferedPiece } from "../pieces/offers.ts";
import type { CliIo } from "./io.ts";
import { oneLine, printJson, printTable } from "./output.ts";
import { withPieces } from "./pieces.ts";

export function addPiecesList(parent: Command, io: CliIo): void {
  parent
    .command("list")
    .description("what is offered and installed; of one piece its actions and the fields of its credential")
    .argument("[id]", "the id under which a piece is offered")
    .option("--json", "print JSON")
    .action((id: string | undefined, options: { json?: boolean }) =>
      withPieces(io, async ({ pieces }) => {
        const all = pieces.offers.list();
        if (id !== undefined) {
          const found = all.filter(({ offer }) => offer.id === id);
          if (found.length === 0) throw new JackfieldError("not_found", { text: `No piece is offered as ${id}.` });
          if (options.json) printJson(io, found.map(inFull));
          else for (const piece of found) printPiece(io, piece);
          return;
        }
        if (options.json) return printJson(io, all.map(inShort));
        const rows = all.map((piece) => {
          const { id: as, piece: name, version, state, actions, auth } = inShort(piece);
          return [as, name, version, state, String(actions), auth.join(" or ") || "none"];
        });
        const empty = "No piece is offered or installed. Install one: pieces install slack@0.17.9.";
        printTable(io, ["ID", "PIECE", "VERSION", "STATE", "ACTIONS", "AUTHENTICATION"], rows, empty);
      }),
    );
}

function inShort({ offer, installed, description }: OfferedPiece) {
  const forms = description === undefined ? [] : credentialForms(description);
  return {
    id: offer.id,
    piece: offer.name,
    version: offer.version,
    state: installed === undefined ? "not installed" : "installed",
    integrity: installed?.integrity ?? offer.integrity ?? null,
    actions: description?.actions.filter(runsAlone).length ?? 0,
    auth: [...new Set(forms.map(({ method }) => method))],
  };
}

function inFull(piece: OfferedPiece) {
  const { description } = piece;
  return {
    ...inShort(piece),
    credential: description === undefined ? [] : credentialForms(description),
    actions: (description?.actions ?? []).map((action) => ({
      name: action.name,
      title: action.title,
      audience: action.audience ?? null,
      class: classOf(action),
      runs: runsAlone(action),
    })),
  };
}

function classOf({ classification }: Action): "read" | "write" {
  return classification === "READ" || classification === "SEARCH" ? "read" : "write";
}

function printPiece(io: CliIo, piece: OfferedPiece): void {
  const { id, piece: name, version, state } = inShort(piece);
  io.out(`${id}: ${name} ${version}, ${state}\n`);
  if (piece.description === undefined) return;
  for (const { method, title, fields, scopes } of credentialForms(piece.description)) {
    io.out(`\nauth: { method: ${method} }  ${oneLine(title)}\n`);
    for (const { field, title: words, required, secret, choices } of fields) {
      const kind = [required ? "required" : "optional", ...(secret ? ["secret"] : [])].join(", ");
      const among = choices === undefined ? "" : `; one of ${choices.map(String).join(", ")}`;
      io.out(`  ${field}  ${oneLine(words)} (${kind}${oneLine(among, 300)})\n`);
    }
    if (scopes !== undefined && scopes.length > 0)
      io.out(`  scopes: ${scopes.map((scope) => oneLine(scope)).join(" ")}\n`);
  }
  io.out("\n");
  const rows = piece.description.actions.map((action) => [
    action.name,
    runsAlone(action) ? classOf(action) : "cannot run",
    action.audience ?? "-",
    oneLine(action.title),
  ]);
  printTable(io, ["ACTION", "CLASS", "AUDIENCE", "TITLE"], rows, "It has no actions.");
}
