/** `pieces install`: fetches, bundles and tries out pieces. Without a name: those that jackfield.yml offers. */

import type { Command } from "commander";
import { runsAlone } from "../../adapters/pieces/visible.ts";
import { releaseAgeMs } from "../connections/pieces-schema.ts";
import { JackfieldError } from "../errors.ts";
import type { Wanted } from "../pieces/install.ts";
import { specOf } from "../pieces/names.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { type PiecesDesk, pieceOf, withPieces } from "./pieces.ts";

interface Options {
  again?: boolean;
  integrity?: string;
  json?: boolean;
}

interface Report {
  piece: string;
  ok: boolean;
  installed?: boolean;
  integrity?: string;
  bundle?: string;
  actions?: number;
  reason?: string;
}

export function addPiecesInstall(parent: Command, io: CliIo): void {
  parent
    .command("install")
    .description("install pieces; without a name those that jackfield.yml offers")
    .argument("[piece...]", "name@version, as slack@0.17.9")
    .option("--again", "fetch and bundle anew what is installed already")
    .option("--integrity <sha512>", "the integrity it must have (one piece only)")
    .option("--json", "print JSON")
    .action((specs: string[], options: Options) =>
      withPieces(io, async (desk) => {
        const reports: Report[] = [];
        for (const wanted of wantedOf(desk, specs, options)) {
          const report = await installed(desk, wanted);
          reports.push(report);
          if (!options.json) io.out(`${lineOf(report)}\n`);
        }
        if (options.json) printJson(io, reports);
        else if (reports.length === 0) io.out("jackfield.yml offers no pieces; name one, as slack@0.17.9.\n");
        const failed = reports.filter(({ ok }) => !ok).length;
        if (failed > 0) {
          const text = `${failed} of ${reports.length} pieces are not installed.`;
          throw new JackfieldError("piece_refused", {
            text: reports[1] === undefined ? (reports[0]?.reason ?? text) : text,
          });
        }
      }),
    );
}

function wantedOf({ activepieces }: PiecesDesk, specs: readonly string[], options: Options): Wanted[] {
  const offers = activepieces?.pieces ?? [];
  const again = options.again === true;
  const minimumAgeMs = releaseAgeMs(activepieces ?? {});
  if (options.integrity !== undefined && specs.length !== 1) {
    throw new JackfieldError("piece_refused", { text: "--integrity goes with exactly one piece." });
  }
  const named = specs.map(pieceOf);
  const pieces = specs.length === 0 ? offers : named;
  const unique = new Map(pieces.map((piece) => [specOf(piece), piece]));
  return [...unique.values()].map(({ name, version }) => {
    const offer = offers.find((candidate) => candidate.name === name && candidate.version === version);
    return { name, version, integrity: options.integrity ?? offer?.integrity, minimumAgeMs, again };
  });
}

async function installed({ pieces }: PiecesDesk, wanted: Wanted): Promise<Report> {
  const piece = specOf(wanted);
  try {
    const { installed: done, integrity, bundle, description } = await pieces.install(wanted);
    const actions = description.actions.filter(runsAlone).length;
    return { piece, ok: true, installed: done, integrity, bundle, actions };
  } catch (error) {
    if (!(error instanceof JackfieldError)) throw error;
    return { piece, ok: false, reason: error.message };
  }
}

function lineOf({ piece, ok, installed: done, integrity, actions, reason }: Report): string {
  if (!ok) return reason ?? `${piece} is not installed.`;
  return `${piece}: ${done ? "installed" : "was installed already"}, ${actions} actions, ${integrity}`;
}
