/** The command line: which commands exist, and how any of them fails. */

import { Command, CommanderError } from "commander";
import { addApprovalsApprove, addApprovalsRefuse } from "./approvals-decide.ts";
import { addApprovalsList, addApprovalsShow } from "./approvals-list.ts";
import { addAuditExport } from "./audit-export.ts";
import { addAuditQuery } from "./audit-query.ts";
import { addAuditTail } from "./audit-tail.ts";
import { addAuditVerify } from "./audit-verify.ts";
import { addClientList, addClientRevoke } from "./clients.ts";
import { addConfigCheck } from "./config-check.ts";
import { addConnectionAuthorize } from "./connection-authorize.ts";
import { addConnectionCheck } from "./connection-check.ts";
import { addConnectionDisconnect } from "./connection-disconnect.ts";
import { addConnectionList } from "./connection-list.ts";
import { addConnectionRefresh } from "./connection-refresh.ts";
import { addConnectionReview } from "./connection-review.ts";
import { addConnectionTools } from "./connection-tools.ts";
import { addCredentialDelete } from "./credential-delete.ts";
import { addCredentialList } from "./credential-list.ts";
import { addCredentialSet } from "./credential-set.ts";
import { failureLine } from "./failure.ts";
import type { CliIo } from "./io.ts";
import { addMigrate } from "./migrate.ts";
import { addOpenapiDryrun } from "./openapi-dryrun.ts";
import { addOrganizationCreate } from "./organization-create.ts";
import { addPeopleInvite } from "./people-invite.ts";
import { addPeopleResetLink, addPeopleSetupLink } from "./people-links.ts";
import { addPeopleList } from "./people-list.ts";
import { addPeopleGroups, addPeopleRemove, addPeopleRole, addPeopleSessions } from "./people-members.ts";
import { addPeopleRecover } from "./people-recover.ts";
import { addPiecesCheck } from "./pieces-check.ts";
import { addPiecesInstall } from "./pieces-install.ts";
import { addPiecesList } from "./pieces-list.ts";
import { addPiecesRemove } from "./pieces-remove.ts";
import { addServe } from "./serve.ts";
import { addTokenCreate } from "./token-create.ts";
import { addTokenList } from "./token-list.ts";
import { addTokenRevoke } from "./token-revoke.ts";
import { addTokenRotate } from "./token-rotate.ts";
import { addVaultRotate } from "./vault-rotate.ts";

/**
 * Runs one command.
 * @param argv the arguments after the program's name; none means `serve`
 * @returns the exit code: 0, or 1 after one line on standard error. Never rejects.
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  try {
    await build(io).parseAsync(withDefault(argv), { from: "user" });
    return 0;
  } catch (error) {
    // Commander has already said what was wrong (or printed the help that was asked for).
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    io.err(`jackfield: ${failureLine(error)}\n`);
    return 1;
  }
}

/** Without a command it is `serve`. Not commander's own default: that would take a misspelt command for an argument. */
function withDefault(argv: readonly string[]): string[] {
  const [first] = argv;
  const isOption = first?.startsWith("-") === true && first !== "-h" && first !== "--help";
  return first === undefined || isOption ? ["serve", ...argv] : [...argv];
}

function build(io: CliIo): Command {
  const program = new Command("jackfield")
    .description("One MCP endpoint in front of an organization's connections.")
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text),
      outputError: (text, write) =>
        write(
          `jackfield: ${text
            .replace(/^error: /, "")
            .trim()
            .replaceAll("\n", " ")}\n`,
        ),
    });

  addServe(program, io);
  const token = program.command("token").description("bearer tokens of agents, and people's own");
  for (const add of [addTokenCreate, addTokenList, addTokenRotate, addTokenRevoke]) add(token, io);
  const client = program.command("client").description("chat clients that people connected");
  for (const add of [addClientList, addClientRevoke]) add(client, io);
  const connection = program.command("connection").description("connections and their tools");
  for (const add of [
    addConnectionList,
    addConnectionAuthorize,
    addConnectionDisconnect,
    addConnectionCheck,
    addConnectionTools,
    addConnectionRefresh,
    addConnectionReview,
  ]) {
    add(connection, io);
  }
  const credential = program.command("credential").description("secrets that connections authenticate with");
  for (const add of [addCredentialSet, addCredentialList, addCredentialDelete]) add(credential, io);
  addVaultRotate(program.command("vault").description("how stored secrets are sealed"), io);
  addOrganizationCreate(program.command("organization").description("tenants"), io);
  const people = program.command("people").description("who signs in to the pages");
  for (const add of [
    addPeopleList,
    addPeopleInvite,
    addPeopleRole,
    addPeopleGroups,
    addPeopleRemove,
    addPeopleSessions,
    addPeopleSetupLink,
    addPeopleResetLink,
    addPeopleRecover,
  ]) {
    add(people, io);
  }
  const pieces = program.command("pieces").description("Activepieces pieces that connections may use");
  for (const add of [addPiecesInstall, addPiecesList, addPiecesRemove, addPiecesCheck]) add(pieces, io);
  addMigrate(program, io);
  addConfigCheck(program.command("config").description("configuration files"), io);
  addOpenapiDryrun(program.command("openapi").description("OpenAPI documents"), io);
  const approvals = program.command("approvals").description("calls that wait for a person");
  for (const add of [addApprovalsList, addApprovalsShow, addApprovalsApprove, addApprovalsRefuse]) add(approvals, io);
  const audit = program.command("audit").description("what was called and refused");
  for (const add of [addAuditTail, addAuditQuery, addAuditExport, addAuditVerify]) add(audit, io);
  return program;
}
