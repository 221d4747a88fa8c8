/** `organization create`: a further tenant with its first environment and endpoint. */

import type { Command } from "commander";
import { createOrganization } from "../people/organizations.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { withWorkplace } from "./workplace.ts";

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
      withWorkplace(io, async ({ store, shared }) => {
        const made = await createOrganization(store, { slug, name: options.name ?? slug });
        // A running server publishes its endpoint.
        await shared.bus.publish("reload", {});
        if (options.json) return printJson(io, { slug, ...made });
        io.out(`Made the organization ${slug} with the environment main and the endpoint default.\n`);
        io.out(`Its connections are files under organizations/${slug}/ in the configuration directory.\n`);
        io.out("A running server serves it within a second.\n");
      }),
    );
}
