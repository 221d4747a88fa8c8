/** `credential delete`: removes a credential and its values. */

import type { Command } from "commander";
import { JackfieldError } from "../errors.ts";
import { usersOfCredentials, withCredentials } from "./credentials.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  organization: string;
  json?: boolean;
}

export function addCredentialDelete(parent: Command, io: CliIo): void {
  parent
    .command("delete")
    .description("delete a credential and what is stored of it")
    .argument("<name>", "name of the credential")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((name: string, options: Options) =>
      withCredentials(io, options.organization, async ({ store, credentials, organization }) => {
        if (!(await credentials.delete(organization.id, name))) {
          const names = (await credentials.list(organization.id)).map((credential) => credential.name).join(", ");
          throw new JackfieldError("not_found", {
            text: `There is no credential ${name} (there are: ${names || "none"}).`,
          });
        }
        const without = (await usersOfCredentials(store, organization.slug)).get(name) ?? [];
        if (options.json) return printJson(io, { name, deleted: true, without });
        const who = without.length === 0 ? "" : ` Without one now: ${without.join(", ")}.`;
        io.out(`Deleted ${name}.${who}\n`);
      }),
    );
}
