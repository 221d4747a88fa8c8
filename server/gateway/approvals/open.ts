/** Puts the parts of approvals together. */
import type { Log } from "../../../adapters/contract.ts";
import { type ApprovalFloor, approvalFloor } from "../../access/approvals.ts";
import type { Registry } from "../../connections/registry.ts";
import type { JackfieldFile } from "../../connections/schema.ts";
import type { ServedEnvironment } from "../../connections/types.ts";
import type { Audit } from "../../observe/audit.ts";
import type { Bus } from "../../shared-state/contract.ts";
import type { Store } from "../../store/database.ts";
import type { Keyring } from "../../vault/keyring.ts";
import type { GatewayCaller } from "../caller.ts";
import type { Toolsets } from "../toolset.ts";
import { policyRevisionOf } from "./binding.ts";
import { createDecisions } from "./decisions.ts";
import type { Approval } from "./record.ts";
import { createRegister } from "./register.ts";
import type { ApprovalParts } from "./stage.ts";
import { createSweep, type Sweep } from "./sweep.ts";

export interface ApprovalsOptions {
  store: Store;
  keyring: Keyring;
  bus: Bus;
  audit: Audit;
  registry: Registry;
  toolsets: Toolsets;
  jackfield: () => JackfieldFile;
  /** Origin under which browsers reach the server. */
  publicUrl: () => string;
  /** Milliseconds that a call waits for a decision where its client can wait. */
  waitMs: number;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export interface OpenApprovals extends ApprovalParts {
  readonly sweep: Sweep;
}

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of `30m`, `24h` or `7d`, as the schema of the file admits them. */
export function durationOf(text: string): number {
  const [, count = "", unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const ms = unit === "m" || unit === "h" || unit === "d" ? UNITS[unit] : Number.NaN;
  if (Number.isNaN(ms)) throw new TypeError(`"${text}" is not a duration`);
  return Number(count) * ms;
}

/** The operator's floor as the file says it; compiled once for each reading of the file. */
export function floorOf(jackfield: () => JackfieldFile): () => ApprovalFloor {
  const compiled = new WeakMap<JackfieldFile, ApprovalFloor>();
  return () => {
    const file = jackfield();
    const floor = compiled.get(file) ?? approvalFloor(file.approvals.always);
    compiled.set(file, floor);
    return floor;
  };
}

/** Opens the register, who decides, and what ends what nobody decided. */
export function openApprovals(options: ApprovalsOptions): OpenApprovals {
  const { store, keyring, bus, audit, registry, toolsets, jackfield, publicUrl, waitMs, log, clock } = options;
  const validForMs = () => durationOf(jackfield().approvals.validFor);
  const register = createRegister({ store, keyring, bus, audit, clock, validForMs });

  const seenIn = (environment: ServedEnvironment | undefined, endpointId: string) => {
    const endpoint = environment?.endpoints.find(({ id }) => id === endpointId);
    return environment && endpoint && { environment, endpoint, toolset: toolsets.for(environment, endpoint) };
  };
  /** A call of somebody who tries a draft stands as long as the draft says the same. */
  const stands = ({ environmentId, endpointId, toolName, policyRevision }: Approval) =>
    [registry.environment(environmentId), registry.draft(environmentId)].some((environment) => {
      const now = seenIn(environment, endpointId);
      const entry = now?.toolset.entries.find(({ tool }) => tool.name === toolName && tool.state === "approved");
      return now && entry && policyRevisionOf(now.endpoint, now.environment, entry) === policyRevision;
    });
  return {
    register,
    decisions: createDecisions({ store, register, audit, bus, clock, stands }),
    url: (id) => `${publicUrl()}/approvals/${id}`,
    async renew(caller) {
      const { id } = caller.environment;
      const draft = caller.principal.testing ? registry.draft(id) : undefined;
      const now = seenIn(draft ?? registry.environment(id), caller.endpoint.id);
      return now && (await isAlive(store, caller, clock())) ? { ...caller, ...now } : undefined;
    },
    waitMs,
    sweep: createSweep({ store, register, clock, log }),
  };
}

/** Whether the token or grant that a call came with still works. */
async function isAlive(store: Store, { principal }: GatewayCaller, now: number): Promise<boolean> {
  const token = await store.models.agentTokens.findByPk(principal.tokenId);
  if (token !== null) return token.revokedAt === null && (token.expiresAt === null || token.expiresAt.getTime() > now);
  const grant = await store.models.oauthGrants.findByPk(principal.tokenId);
  return grant !== null && grant.endedAt === null && grant.expiresAt.getTime() > now;
}
