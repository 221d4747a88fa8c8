/** `organization create`: a further tenant with its first environment and endpoint. */

import type { Command } from "commander";
import { publicOrigin } from "../config.ts";
import { linkPath } from "../people/one-time-links.ts";
import { createOrganization } from "../people/organizations.ts";
import { noteChange } from "../people/people-audit.ts";
import { OPERATOR } from "../people/permissions.ts";
import type { CliIo } from "./io.ts";
import { moment, printJson } from "./output.ts";
import { withPeople } from "./people-desk.ts";

interface Options {
  name?: string;
  json?: boolean;
}

export function addOrganizationCreate(parent: Command, io: CliIo): void {
  parent
    .command("create")
    .description("make a further organization, served under /o/<slug>/mcp")
    .argument("<slug>", "part of its URLs; cannot be changed later")
    .option("--name <name>", "how people read it")
    .option("--json", "print JSON")
    .action((slug: string, options: Options) =>
      withPeople(io, async ({ store, shared, audit, invitations, config }) => {
        const made = await createOrganization(store, { slug, name: options.name ?? slug });
        noteChange(audit, OPERATOR, "organization_made", { organizationId: made.id, reason: slug });
        // A running server publishes its endpoint.
        await shared.bus.publish("reload", {});
        const link = await invitations.invite(OPERATOR, { organizationId: made.id, role: "admin" });
        const invitation = {
          url: new URL(linkPath("invite", link.secret), publicOrigin(config)).href,
          expiresAt: link.expiresAt,
        };
        if (options.json) return printJson(io, { slug, ...made, invitation });
        io.out(`Made the organization ${slug} with the environment main and the endpoint default.\n`);
        io.out(`Its connections are files under organizations/${slug}/ in the configuration directory.\n`);
        io.out(`Its first admin opens this link, once, until ${moment(invitation.expiresAt)}:\n${invitation.url}\n`);
        io.out("A running server serves it within a second.\n");
      }),
    );
}
