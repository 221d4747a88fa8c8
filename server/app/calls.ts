/** What every call passes, whatever door it comes in by. */
import { openAssets } from "../assets/open.ts";
import { assetLimits, storageChoice } from "../connections/asset-schema.ts";
import { openApprovals } from "../gateway/approvals/open.ts";
import { createSchemas } from "../gateway/arguments.ts";
import { createAuthorizations } from "../gateway/authorization.ts";
import type { Gateway } from "../gateway/call.ts";
import { createTaskDesks } from "../gateway/task-desk.ts";
import type { Toolsets } from "../gateway/toolset.ts";
import { assertionKeys, createCallerAssertions } from "../people/caller-assertions.ts";
import type { Principal } from "../people/principal.ts";
import { principalMay } from "../people/principal-permissions.ts";
import type { Configuration } from "./configuration.ts";
import type { Foundation } from "./foundation.ts";
import type { AppOptions } from "./options.ts";
import type { PeopleParts } from "./people.ts";
import type { Upstreams } from "./upstreams.ts";

export type Calls = Awaited<ReturnType<typeof openCalls>>;

const TIMEOUTS = { callMs: 120_000, maxMs: 15 * 60_000 };
/** Below the 60 s after which the clients measured give a request up, progress or not. */
const APPROVAL_WAIT_MS = 45_000;

/** @throws JackfieldError where the storage of kept files cannot be opened */
export async function openCalls(
  foundation: Foundation,
  configuration: Configuration,
  upstreams: Upstreams,
  { signInFlow, oauth }: Pick<PeopleParts, "signInFlow" | "oauth">,
  toolsets: Toolsets,
  options: Pick<AppOptions, "timeouts" | "approvalWaitMs">,
) {
  const { config, keyring, store, shared, audit, egress, publicUrl, log, clock } = foundation;
  const { registry, jackfield } = configuration;
  const { desk, sessions } = upstreams;
  const mayConnect = (principal: Principal) => principalMay(store, principal, "connections:write");
  const authorizations = createAuthorizations({
    connected: desk.connected,
    settled: desk.settled,
    signInUrl: (connection, principal) => signInFlow.signInUrl(connection, principal),
    mayConnect,
    bus: shared.bus,
  });
  const assets = await openAssets({
    ...{ store, dataDir: config.dataDir, locks: shared.locks, log, clock },
    choice: storageChoice(jackfield().assets),
    limits: () => assetLimits(jackfield().assets),
    fetch: egress.upstreamStream,
  });
  const tasks = createTaskDesks({ store, keyring, bus: shared.bus, publicUrl, log, clock });
  const approvals = openApprovals({
    ...{ store, keyring, bus: shared.bus, audit, registry, toolsets, jackfield, publicUrl, log, clock },
    waitMs: options.approvalWaitMs ?? APPROVAL_WAIT_MS,
  });
  const gateway: Gateway = {
    ...{ tasks, sessions, authorizations, approvals, audit, log, clock },
    assertions: createCallerAssertions({ keys: assertionKeys(keyring), issuer: publicUrl, clock }),
    schemas: createSchemas(log),
    assets: assets.keeper,
    stepUp: oauth.stepUp.stepUps,
    timeouts: options.timeouts ?? TIMEOUTS,
  };
  return { gateway, approvals, assets, tasks, mayConnect };
}
