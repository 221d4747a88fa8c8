/** `people role`, `groups`, `remove` and `sessions`: what admins do on the members page. */

import { Argument, type Command } from "commander";
import { OPERATOR, type Role } from "../people/permissions.ts";
import { ROLES } from "../store/models/members.ts";
import type { CliIo } from "./io.ts";
import { moment, oneLine, printJson, printTable } from "./output.ts";
import { type PeopleDesk, personNamed, withPeople } from "./people-desk.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";

interface Options {
  organization: string;
  end?: boolean;
  json?: boolean;
}

/** The options that all of them have. */
function command(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .argument("<username>", "who")
    .option("--organization <slug>", "organization they belong to", FIRST_ORGANIZATION)
    .option("--json", "print JSON");
}

async function named(desk: PeopleDesk, username: string, options: Options) {
  const organization = await organizationOf(desk.store, options.organization);
  return { organization, person: await personNamed(desk, username) };
}

export function addPeopleRole(parent: Command, io: CliIo): void {
  command(parent, "role", "make a member an admin, or an admin a member; one admin stays")
    .addArgument(new Argument("<role>", "what they are from now on").choices(ROLES))
    .action((username: string, role: Role, options: Options) =>
      withPeople(io, async (desk) => {
        const { person, organization } = await named(desk, username, options);
        await desk.members.changeRole(OPERATOR, organization.id, person.id, role);
        if (options.json) return printJson(io, { username: person.username, role });
        io.out(`${person.username} is ${role === "admin" ? "an admin" : "a member"} of ${organization.slug}.\n`);
      }),
    );
}

export function addPeopleGroups(parent: Command, io: CliIo): void {
  command(parent, "groups", "set the groups of a member; those that a sign-in names stay")
    .argument("[names...]", "the groups; none: leaves all")
    .action((username: string, names: string[], options: Options) =>
      withPeople(io, async (desk) => {
        const { person, organization } = await named(desk, username, options);
        await desk.members.setGroups(OPERATOR, organization.id, person.id, names);
        const { groups } = await desk.members.get(organization.id, person.id);
        if (options.json) return printJson(io, { username: person.username, groups });
        printTable(
          io,
          ["GROUP", "FROM"],
          groups.map(({ name, source }) => [name, source === "" ? "by hand" : source]),
          `${person.username} is in no group of ${organization.slug}.`,
        );
      }),
    );
}

export function addPeopleRemove(parent: Command, io: CliIo): void {
  command(parent, "remove", "end a membership with its sessions, clients, own tokens and accounts").action(
    (username: string, options: Options) =>
      withPeople(io, async (desk) => {
        const { person, organization } = await named(desk, username, options);
        const ended = await desk.members.remove(OPERATOR, organization.id, person.id);
        if (options.json) return printJson(io, { username: person.username, ended });
        const { sessions, grants, tokens, accounts } = ended;
        io.out(`${person.username} is removed from ${organization.slug}. Ended: ${sessions} browser sessions, `);
        io.out(`${grants} clients, ${tokens} tokens, ${accounts} accounts at connections.\n`);
      }),
  );
}

export function addPeopleSessions(parent: Command, io: CliIo): void {
  command(parent, "sessions", "list the browsers in which a member is signed in")
    .option("--end", "sign them out everywhere")
    .action((username: string, options: Options) =>
      withPeople(io, async (desk) => {
        const { person, organization } = await named(desk, username, options);
        if (options.end) {
          const ended = await desk.members.endSessions(OPERATOR, organization.id, person.id);
          if (options.json) return printJson(io, { username: person.username, ended });
          return io.out(`${person.username} is signed out of ${ended === 1 ? "one browser" : `${ended} browsers`}.\n`);
        }
        const sessions = await desk.webSessions.list(person.id);
        if (options.json) return printJson(io, sessions);
        printTable(
          io,
          ["SINCE", "LAST SEEN", "WITH", "FROM", "BROWSER"],
          sessions.map(({ createdAt, lastSeenAt, means, address, userAgent }) => [
            moment(createdAt),
            moment(lastSeenAt),
            means ?? "-",
            address ?? "-",
            oneLine(userAgent, 60) || "-",
          ]),
          `${person.username} is signed in nowhere.`,
        );
      }),
    );
}
