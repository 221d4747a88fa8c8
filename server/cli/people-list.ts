/** `people list`: who may sign in to the pages of an organization. */

import type { Command } from "commander";
import { namesOf } from "../people/groups.ts";
import { listMembers } from "../people/members.ts";
import type { CliIo } from "./io.ts";
import { moment, oneLine, printJson, printTable } from "./output.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  organization: string;
  json?: boolean;
}

export function addPeopleList(parent: Command, io: CliIo): void {
  parent
    .command("list")
    .description("list the people of an organization")
    .option("--organization <slug>", "organization they belong to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((options: Options) =>
      withWorkplace(io, async ({ store }) => {
        const organization = await organizationOf(store, options.organization);
        const members = await listMembers(store, organization.id);
        if (options.json) {
          printJson(
            io,
            members.map(({ person, ...member }) => ({ ...person, ...member })),
          );
          return;
        }
        printTable(
          io,
          ["USERNAME", "NAME", "ROLE", "GROUPS", "SIGNS IN WITH", "SINCE"],
          members.map((member) => [
            member.person.username,
            oneLine(member.person.name, 32),
            member.role,
            oneLine(namesOf(member.groups).join(", "), 40) || "-",
            [...(member.hasPassword ? ["password"] : []), ...member.identities.map(({ provider }) => provider)].join(
              ", ",
            ),
            moment(member.person.createdAt),
          ]),
          "Nobody yet. Make the first admin with: people setup-link",
        );
      }),
    );
}
