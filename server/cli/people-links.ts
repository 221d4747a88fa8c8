/** `people setup-link` and `people reset-link`: links that an operator hands out when nobody can sign in. */

import type { Command } from "commander";
import { type Config, publicOrigin } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { createOneTimeLinks, linkPath, type NewLink } from "../people/one-time-links.ts";
import { hasAdmin, plainUsername } from "../people/people.ts";
import { OPERATOR } from "../people/permissions.ts";
import { LINK_MS } from "../people/setup.ts";
import type { CliIo } from "./io.ts";
import { moment, printJson } from "./output.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";
import { type Workplace, withWorkplace } from "./workplace.ts";

interface Options {
  json?: boolean;
}

export function addPeopleSetupLink(parent: Command, io: CliIo): void {
  parent
    .command("setup-link")
    .description("make a link that makes the first admin; it works once, for 24 hours")
    .option("--json", "print JSON")
    .action((options: Options) =>
      withWorkplace(io, async (workplace) => {
        const organization = await organizationOf(workplace.store, FIRST_ORGANIZATION);
        if (await hasAdmin(workplace.store, organization.id)) {
          throw new JackfieldError("config_invalid", {
            text: "There is an admin already. For a forgotten password: people reset-link USERNAME",
          });
        }
        await hand(io, workplace, { kind: "setup", organizationId: organization.id, role: "admin" }, options);
      }),
    );
}

export function addPeopleResetLink(parent: Command, io: CliIo): void {
  parent
    .command("reset-link")
    .description("make a link with which a person chooses a new password; it works once, for 24 hours")
    .argument("<username>", "whose password")
    .option("--json", "print JSON")
    .action((username: string, options: Options) =>
      withWorkplace(io, async (workplace) => {
        const { people, members } = workplace.store.models;
        const person = await people.findOne({ where: { username: plainUsername(username), disabledAt: null } });
        const member = person === null ? null : await members.findOne({ where: { personId: person.id } });
        if (person === null || member === null) {
          throw new JackfieldError("not_found", { text: `Nobody who may sign in has the username ${username}.` });
        }
        const { organizationId, role } = member;
        await hand(io, workplace, { kind: "reset", organizationId, role, personId: person.id }, options);
      }),
    );
}

async function hand(
  io: CliIo,
  { store, config }: Workplace,
  link: Omit<NewLink, "forMs">,
  options: Options,
): Promise<void> {
  const { secret, expiresAt } = await createOneTimeLinks({ store, clock: Date.now }).create({
    ...link,
    createdBy: OPERATOR.name,
    forMs: LINK_MS,
  });
  handLink(io, config, linkPath(link.kind, secret), expiresAt, options);
}

/** Prints where a one-time link leads, and until when. */
export function handLink(io: CliIo, config: Config, path: string, expiresAt: Date, { json = false }: Options): void {
  const url = new URL(path, publicOrigin(config)).href;
  if (json) {
    printJson(io, { url, expiresAt });
    return;
  }
  io.out(`${url}\nIt works once, until ${moment(expiresAt)}.\n`);
  if (config.port === 0 && config.publicUrl === undefined) {
    io.out("The server chooses its port at its start: put the one it printed in place of 0.\n");
  }
}

/** Where a one-time link leads. */
export function setupUrl(origin: string, secret: string): string {
  return new URL(linkPath("setup", secret), origin).href;
}
