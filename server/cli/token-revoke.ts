/** `token revoke`: ends a token everywhere, within a second also in a running server. */

import type { Command } from "commander";
import { JackfieldError } from "../errors.ts";
import { createAgentTokens } from "../people/agent-tokens.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  organization: string;
  json?: boolean;
}

export function addTokenRevoke(parent: Command, io: CliIo): void {
  parent
    .command("revoke")
    .description("end a token; a running server refuses it within a second")
    .argument("<id-or-name>", "id of one token, or name of an agent for all of its tokens")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((idOrName: string, options: Options) =>
      withWorkplace(io, async ({ store, shared }) => {
        const organization = await organizationOf(store, options.organization);
        const tokens = createAgentTokens({ store, bus: shared.bus, clock: Date.now });
        const revoked = await tokens.revoke(organization.id, idOrName);
        if (revoked === 0) {
          throw new JackfieldError("not_found", { text: `There is no token ${idOrName} that could be revoked.` });
        }
        if (options.json) return printJson(io, { revoked });
        io.out(`Revoked ${revoked === 1 ? "one token" : `${revoked} tokens`}.\n`);
      }),
    );
}
