/** What the approval commands share: the register as an operator on the host uses it. */

import { publicOrigin } from "../config.ts";
import { configurationEnv } from "../connections/environment.ts";
import { loadConfigDir } from "../connections/files.ts";
import { createRegistry } from "../connections/registry.ts";
import type { JackfieldFile } from "../connections/schema.ts";
import type { Person } from "../gateway/approvals/decisions.ts";
import { floorOf, type OpenApprovals, openApprovals } from "../gateway/approvals/open.ts";
import { createToolsets } from "../gateway/toolset.ts";
import { createAudit } from "../observe/audit.ts";
import type { CliIo } from "./io.ts";
import { organizationOf } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

/** Opens the approvals of an organization; whoever runs commands on the host decides as its operator. */
export async function withApprovals(
  io: CliIo,
  organization: string,
  work: (approvals: OpenApprovals, operator: Person) => Promise<void>,
): Promise<void> {
  await withWorkplace(io, async ({ config, log, store, keyring, shared }) => {
    const { id: organizationId } = await organizationOf(store, organization);
    const registry = createRegistry({ store, bus: shared.bus, log });
    await registry.ready;
    const audit = createAudit({ store, keyring, log, clock: Date.now });
    const file: JackfieldFile = loadConfigDir(config.configDir, configurationEnv(io.env, config)).jackfield;
    const jackfield = () => file;
    const approvals = openApprovals({
      ...{ store, keyring, bus: shared.bus, audit, registry, jackfield, log },
      toolsets: createToolsets(floorOf(jackfield)),
      publicUrl: () => publicOrigin(config),
      waitMs: 0,
      clock: Date.now,
    });
    try {
      await work(approvals, {
        kind: "operator",
        key: undefined,
        permitted: true,
        organizationId,
        principalKind: "operator",
        principalIssuer: "urn:jackfield:host",
        principalSubject: "cli",
        principalName: "the operator",
      });
    } finally {
      await approvals.sweep.close();
      await audit.close();
      await registry.close();
    }
  });
}
