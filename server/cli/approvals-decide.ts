/** `approvals approve` and `approvals refuse`: the operator of the host decides. */

import type { Command } from "commander";
import { withApprovals } from "./approvals.ts";
import type { CliIo } from "./io.ts";
import { oneLine, printJson } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  organization: string;
  reason?: string;
  json?: boolean;
}

export function addApprovalsApprove(parent: Command, io: CliIo): void {
  const command = parent
    .command("approve")
    .description("approve one call; it runs once, when its caller calls again")
    .argument("<id>", "the approval")
    .option("--reason <text>", "what the caller and the audit read");
  decideWith(command, io, true);
}

export function addApprovalsRefuse(parent: Command, io: CliIo): void {
  const command = parent
    .command("refuse")
    .description("refuse one call")
    .argument("<id>", "the approval")
    .requiredOption("--reason <text>", "why: the caller reads it");
  decideWith(command, io, false);
}

function decideWith(command: Command, io: CliIo, approve: boolean): void {
  command
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((id: string, { organization, reason, json }: Options) =>
      withApprovals(io, organization, async ({ decisions }, operator) => {
        const decision = { approve, ...(reason === undefined ? {} : { reason }) };
        const approval = await decisions.decide(operator, id, decision);
        if (json) return printJson(io, approval);
        io.out(`${approval.state}: ${approval.toolName} for ${oneLine(approval.principalName, 64)}\n`);
      }),
    );
}
