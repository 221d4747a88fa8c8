/** `token rotate`: a successor for a token, shown this once; the old one goes on for a while. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { createAgentTokens } from "../people/agent-tokens.ts";
import { LONGEST_OVERLAP_MS, OVERLAP_MS } from "../people/token-desk.ts";
import type { CliIo } from "./io.ts";
import { parseSpan } from "./options.ts";
import { moment, printJson } from "./output.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  /** Milliseconds. */
  overlap: number;
  organization: string;
  json?: boolean;
}

function parseOverlap(text: string): number {
  const span = text === "0" ? 0 : parseSpan(text);
  if (span > LONGEST_OVERLAP_MS) throw new InvalidArgumentError("At most 30d.");
  return span;
}

export function addTokenRotate(parent: Command, io: CliIo): void {
  parent
    .command("rotate")
    .description("make a successor that is alike and show it once; the old one keeps working for a while")
    .argument("<id>", "id of the token")
    .addOption(
      new Option("--overlap <span>", "how long the old one keeps working, such as 24h, or 0")
        .argParser(parseOverlap)
        .default(OVERLAP_MS, "24h"),
    )
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((id: string, options: Options) =>
      withWorkplace(io, async ({ store, shared }) => {
        const organization = await organizationOf(store, options.organization);
        const tokens = createAgentTokens({ store, bus: shared.bus, clock: Date.now });
        const rotation = { overlapMs: options.overlap, createdBy: "cli", within: () => true };
        const made = await tokens.rotate(organization.id, id, rotation);
        const old = await tokens.find(organization.id, id);
        const oldEnds = old?.expiresAt ?? null;
        if (options.json) return printJson(io, { ...made, rotatedFrom: id, oldExpiresAt: oldEnds });
        io.out(`${made.token}\n`);
        io.out(`It is shown only now. The old one works until ${moment(oldEnds)}. Revoke: token revoke ${made.id}\n`);
      }),
    );
}
