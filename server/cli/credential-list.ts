/** `credential list`: names and fields, never a value. */

import type { Command } from "commander";
import { usersOfCredentials, withCredentials } from "./credentials.ts";
import type { CliIo } from "./io.ts";
import { moment, printJson, printTable } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  organization: string;
  json?: boolean;
}

export function addCredentialList(parent: Command, io: CliIo): void {
  parent
    .command("list")
    .description("list the stored credentials, and what uses them")
    .option("--organization <slug>", "organization they belong to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((options: Options) =>
      withCredentials(io, options.organization, async ({ store, credentials, organization }) => {
        const users = await usersOfCredentials(store, organization.slug);
        const rows = (await credentials.list(organization.id)).map((credential) => ({
          ...credential,
          usedBy: users.get(credential.name) ?? [],
        }));
        if (options.json) return printJson(io, rows);
        printTable(
          io,
          ["NAME", "KIND", "FIELDS", "CHANGED", "USED BY"],
          rows.map(({ name, kind, fields, updatedAt, usedBy }) => [
            name,
            kind,
            fields.join(","),
            moment(updatedAt),
            usedBy.join(","),
          ]),
          "No credential is stored. Store one with: credential set NAME < file",
        );
      }),
    );
}
