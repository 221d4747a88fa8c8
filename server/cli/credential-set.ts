/** `credential set`: stores a token or key. Its value comes from standard input, never from the command line. */

import type { Command } from "commander";
import { LONGEST_SECRET } from "../connections/stored-credentials.ts";
import { JackfieldError } from "../errors.ts";
import { usersOfCredentials, withCredentials } from "./credentials.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  field: string;
  organization: string;
  json?: boolean;
}

export function addCredentialSet(parent: Command, io: CliIo): void {
  parent
    .command("set")
    .description("store a credential; its value is read from standard input")
    .argument("<name>", "name that a connection's credential: gives, or the connection's own slug")
    .option("--field <field>", "secret (a token or key), client_id, client_secret, or another name", "secret")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action(async (name: string, { field, ...options }: Options) => {
      const value = withoutLineEnd(await io.input(`Value of ${field} (not shown): `));
      if (value === "") {
        throw new JackfieldError("invalid_credential", {
          text: `There is no value. Give it on standard input, as in: credential set ${name} < file`,
        });
      }
      if (value.length > LONGEST_SECRET) {
        throw new JackfieldError("invalid_credential", { text: "The value is too long for a secret." });
      }
      await withCredentials(io, options.organization, async ({ store, credentials, organization }) => {
        const { id, revision, created } = await credentials.set({
          organizationId: organization.id,
          name,
          values: { [field]: value },
          by: "cli",
        });
        const usedBy = (await usersOfCredentials(store, organization.slug)).get(name) ?? [];
        if (options.json) return printJson(io, { id, name, field, revision, created, usedBy });
        const users = usedBy.length === 0 ? "No connection uses it yet." : `Used by ${usedBy.join(", ")} from now on.`;
        io.out(`${created ? "Stored" : "Changed"} ${name} (${field}). ${users}\n`);
      });
    });
}

/** `echo` and editors end a text with a line end that is not part of the secret. */
function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, "");
}
