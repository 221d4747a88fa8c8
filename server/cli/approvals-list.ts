/** `approvals list` and `approvals show`: the calls that wait for a person, and one of them exactly. */

import type { Command } from "commander";
import { shownArguments } from "../gateway/approvals/answers.ts";
import { APPROVAL_STATES } from "../store/models/approvals.ts";
import { withApprovals } from "./approvals.ts";
import type { CliIo } from "./io.ts";
import { moment, oneLine, printJson, printTable } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  organization: string;
  all?: boolean;
  json?: boolean;
}

export function addApprovalsList(parent: Command, io: CliIo): void {
  parent
    .command("list")
    .description("list the calls that wait for a person")
    .option("--all", "those that were decided, too")
    .option("--organization <slug>", "organization they belong to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((options: Options) =>
      withApprovals(io, options.organization, async ({ decisions }, operator) => {
        const [waiting] = APPROVAL_STATES;
        const found = await decisions.list(operator, { ...(options.all ? {} : { state: waiting }), limit: 200 });
        if (options.json) return printJson(io, found);
        printTable(
          io,
          ["ID", "TOOL", "CALLER", "ENDPOINT", "STATE", "UNTIL"],
          found.map((one) => [
            one.id,
            one.toolName,
            oneLine(one.principalName, 32),
            one.endpointSlug,
            one.state,
            moment(one.expiresAt),
          ]),
          "Nothing waits for a person.",
        );
      }),
    );
}

export function addApprovalsShow(parent: Command, io: CliIo): void {
  parent
    .command("show")
    .description("show one call exactly as it will be sent")
    .argument("<id>", "the approval")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((id: string, options: Options) =>
      withApprovals(io, options.organization, async ({ decisions }, operator) => {
        const { approval, args, standing } = await decisions.show(operator, id);
        if (options.json) return printJson(io, { ...approval, arguments: args, standing });
        io.out(`${approval.toolName} for ${oneLine(approval.principalName, 64)} through ${approval.endpointSlug}\n`);
        io.out(
          `${approval.state}, until ${moment(approval.expiresAt)}${standing ? "" : "; the policy changed since"}\n`,
        );
        io.out(`${shownArguments(args)}\n`);
      }),
    );
}
