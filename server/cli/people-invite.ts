/** `people invite`: a link that makes somebody a member, once. */

import type { Command } from "commander";
import { linkPath } from "../people/one-time-links.ts";
import { OPERATOR } from "../people/permissions.ts";
import type { CliIo } from "./io.ts";
import { personNamed, withPeople } from "./people-desk.ts";
import { handLink } from "./people-links.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";

interface Options {
  admin?: boolean;
  organization: string;
  name?: string;
  person?: string;
  group?: string[];
  json?: boolean;
}

export function addPeopleInvite(parent: Command, io: CliIo): void {
  parent
    .command("invite")
    .description("make a link that makes somebody a member; it works once, for 7 days")
    .option("--admin", "make them an admin")
    .option("--name <name>", "the name that the form begins with")
    .option("--group <name>", "a group to put them in; repeat for several", (name: string, all: string[] = []) => [
      ...all,
      name,
    ])
    .option("--person <username>", "for this person alone, who joins, or comes back after a removal")
    .option("--organization <slug>", "organization to join", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((options: Options) =>
      withPeople(io, async (desk) => {
        const organization = await organizationOf(desk.store, options.organization);
        const { name, person, group = [] } = options;
        const made = await desk.invitations.invite(OPERATOR, {
          organizationId: organization.id,
          role: options.admin ? "admin" : "member",
          groups: group,
          ...(name === undefined ? {} : { name }),
          ...(person === undefined ? {} : { personId: (await personNamed(desk, person)).id }),
        });
        handLink(io, desk.config, linkPath("invite", made.secret), made.expiresAt, options);
      }),
    );
}
