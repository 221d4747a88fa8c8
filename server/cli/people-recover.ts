/** `people recover`: an admin who lost their way in, or an organization that has none left. */

import type { Command } from "commander";
import { linkPath } from "../people/one-time-links.ts";
import { OPERATOR } from "../people/permissions.ts";
import { recoverAdmin } from "../people/recovery.ts";
import { TOPICS } from "../shared-state/contract.ts";
import type { CliIo } from "./io.ts";
import { personNamed, withPeople } from "./people-desk.ts";
import { handLink } from "./people-links.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";

interface Options {
  organization: string;
  json?: boolean;
}

export function addPeopleRecover(parent: Command, io: CliIo): void {
  parent
    .command("recover")
    .description("make a person an admin again, with a link for a new password; without a name: invite a new admin")
    .argument("[username]", "who; removed people come back")
    .option("--organization <slug>", "organization to administer", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((username: string | undefined, options: Options) =>
      withPeople(io, async (desk) => {
        const organizationId = (await organizationOf(desk.store, options.organization)).id;
        if (username === undefined) {
          const made = await desk.invitations.invite(OPERATOR, { organizationId, role: "admin" });
          return handLink(io, desk.config, linkPath("invite", made.secret), made.expiresAt, options);
        }
        const person = await personNamed(desk, username);
        const made = await recoverAdmin(desk, organizationId, person);
        await desk.shared.bus.publish(TOPICS.tokens, { personId: person.id });
        handLink(io, desk.config, linkPath("reset", made.secret), made.expiresAt, options);
      }),
    );
}
