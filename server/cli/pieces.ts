/** What the commands about pieces share. */

import { configurationEnv } from "../connections/environment.ts";
import { loadConfigDir } from "../connections/files.ts";
import type { Activepieces } from "../connections/pieces-schema.ts";
import { JackfieldError } from "../errors.ts";
import { type PieceVersion, readSpec } from "../pieces/names.ts";
import { openPieces, type Pieces } from "../pieces/open.ts";
import type { CliIo } from "./io.ts";
import { type Workplace, withWorkplace } from "./workplace.ts";

export interface PiecesDesk extends Workplace {
  pieces: Pieces;
  activepieces: Activepieces | undefined;
}

/** Opens what is installed; nothing that runs there reaches the network. */
export async function withPieces(io: CliIo, work: (desk: PiecesDesk) => Promise<void>): Promise<void> {
  await withWorkplace(io, async (workplace) => {
    const { config, shared, log } = workplace;
    const { jackfield, errors } = loadConfigDir(config.configDir, configurationEnv(io.env, config));
    const broken = errors.find(({ file }) => /^jackfield\.ya?ml$/.test(file));
    if (broken) throw new JackfieldError("config_invalid", { text: `${broken.file}: ${broken.message}` });
    const pieces = openPieces({
      dataDir: config.dataDir,
      activepieces: () => jackfield.activepieces,
      shared,
      fetch: () => Promise.reject(new JackfieldError("blocked_address", { detail: "a piece that is only loaded" })),
      hop: { header: "x-jackfield-hop", value: "cli" },
      env: io.env,
      log,
      clock: Date.now,
    });
    try {
      await work({ ...workplace, pieces, activepieces: jackfield.activepieces });
    } finally {
      await pieces.close();
    }
  });
}

/** @throws JackfieldError `piece_refused` for anything but a name and one exact version */
export function pieceOf(spec: string): PieceVersion {
  const piece = readSpec(spec);
  if (piece !== undefined) return piece;
  const text = `${spec.slice(0, 100)} is not a piece and one exact version, as slack@0.17.9 or @acme/piece-crm@1.0.0.`;
  throw new JackfieldError("piece_refused", { text });
}
