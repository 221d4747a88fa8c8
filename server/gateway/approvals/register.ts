/**
 * The register of approvals. A record holds one exact call; it is found by the same principal only, and used once:
 * whoever changes its state by one conditional UPDATE has it, in whatever process.
 */
import { Op, UniqueConstraintError } from "sequelize";
import { ulid } from "ulid";
import type { JsonObject } from "../../../adapters/contract.ts";
import { JackfieldError } from "../../errors.ts";
import type { Audit } from "../../observe/audit.ts";
import type { Bus } from "../../shared-state/contract.ts";
import type { Store } from "../../store/database.ts";
import type { ApprovalRow } from "../../store/models/approvals.ts";
import type { Keyring } from "../../vault/keyring.ts";
import { seal } from "../../vault/seal.ts";
import type { GatewayCaller } from "../caller.ts";
import type { ToolEntry } from "../toolset.ts";
import { type Binding, bindingOf, openKeyOf } from "./binding.ts";
import { type Approval, approvalAad, auditedCall, openArguments, withoutArguments } from "./record.ts";

/** Bytes of a call's arguments as JSON. More cannot be shown to a person who is to decide. */
export const MAX_ARGUMENT_BYTES = 256 * 1024;
/** Calls of one principal that may wait at a time, so that nobody buries those who decide. */
const MOST_PENDING = 100;

export interface Register {
  /** What the call would be bound to. */
  bind(caller: GatewayCaller, entry: ToolEntry, args: JsonObject): Binding;
  /**
   * The pending record of a call, made where there is none; `fresh` tells which.
   * @throws JackfieldError `approval_impossible` where the call is too large or the principal has too many waiting
   */
  propose(
    caller: GatewayCaller,
    entry: ToolEntry,
    binding: Binding,
    args: JsonObject,
    decider: ApprovalRow["decider"],
  ): Promise<{ approval: Approval; fresh: boolean }>;
  /** A record by its id, where it is this caller's at this endpoint. */
  find(id: string, caller: GatewayCaller): Promise<Approval | undefined>;
  /** The newest record of the same call that is approved and unused, or else one that an approver refused. */
  settled(binding: Binding): Promise<Approval | undefined>;
  /** Takes an approved record for good and gives the exact arguments; undefined where somebody was faster. */
  claim(approval: Approval, binding: Binding): Promise<JsonObject | undefined>;
  /** Goes on with a taken one after a question of its upstream; false where that round was taken before. */
  proceed(id: string, round: number, binding: Binding): Promise<boolean>;
  /** The exact arguments of any record. @throws JackfieldError `approval_unknown` */
  argumentsOf(id: string): Promise<JsonObject>;
  /** Resolves with the record once it is not pending any more, at the latest after `ms` or when `signal` aborts. */
  decided(id: string, signal: AbortSignal, ms: number): Promise<Approval | undefined>;
  /** Ends the record if its time is over; the one process that ends it says so in the audit. */
  expire(approval: Approval): Promise<boolean>;
}

export interface RegisterOptions {
  store: Store;
  keyring: Keyring;
  bus: Bus;
  audit: Pick<Audit, "record" | "digest">;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Milliseconds from the proposal to the end of the approval. */
  validForMs: () => number;
}

/** A database may refuse to compare anything else with its ids. */
export const isId = (text: string): boolean => /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text);

/** How often a waiting call looks by itself: a message may be lost, and on MySQL without Redis none comes. */
const LOOK_EVERY_MS = 2_000;

/** Makes the register of one process. */
export function createRegister(options: RegisterOptions): Register {
  const { store, keyring, bus, audit, clock, validForMs } = options;
  const { approvals } = store.models;

  async function create(row: ApprovalRow): Promise<boolean> {
    try {
      await approvals.create(row);
      return true;
    } catch (error) {
      // An equal call was proposed at the same moment: they share one record.
      if (error instanceof UniqueConstraintError) return false;
      throw error;
    }
  }

  const register: Register = {
    bind: (caller, entry, args) => bindingOf(caller, entry, audit.digest(args)),
    async propose(caller, entry, binding, args, decider) {
      const text = JSON.stringify(args);
      if (Buffer.byteLength(text) > MAX_ARGUMENT_BYTES) {
        throw new JackfieldError("approval_impossible", {
          text: `The arguments are larger than ${MAX_ARGUMENT_BYTES} bytes, too much for a person to look at. Send less.`,
        });
      }
      const openKey = openKeyOf(binding);
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const row = await approvals.findOne({ where: { openKey } });
        if (row !== null && !(await register.expire(row))) return { approval: withoutArguments(row), fresh: false };
        const waiting = await approvals.count({ where: { principalKey: binding.principalKey, state: "pending" } });
        if (waiting >= MOST_PENDING) {
          throw new JackfieldError("approval_impossible", {
            text: `${waiting} of your calls wait for an approval already. Wait until they are decided, or expire.`,
          });
        }
        const made = newRow(caller, entry, binding, { decider, now: clock(), validForMs: validForMs() });
        const sealed = { ...made, openKey, sealedArguments: seal(keyring, text, approvalAad(made)) };
        if (await create(sealed)) return { approval: withoutArguments(sealed), fresh: true };
      }
      throw new JackfieldError("internal", { detail: "an approval could not be proposed: its record came and went" });
    },
    async find(id, caller) {
      if (!isId(id)) return undefined;
      const row = await approvals.findOne({
        where: { id, principalKey: caller.principal.key, endpointId: caller.endpoint.id },
      });
      return row === null ? undefined : withoutArguments(row);
    },
    async settled(binding) {
      const alive = { ...binding, expiresAt: { [Op.gt]: new Date(clock()) } };
      const order: [["id", "DESC"]] = [["id", "DESC"]];
      const approved = await approvals.findOne({ where: { ...alive, state: "approved" }, order });
      const row =
        approved ?? (await approvals.findOne({ where: { ...alive, state: "refused", decider: "approver" }, order }));
      return row === null ? undefined : withoutArguments(row);
    },
    async claim({ id }, binding) {
      const now = new Date(clock());
      const [taken] = await approvals.update(
        { state: "used", usedAt: now },
        { where: { ...binding, id, state: "approved", expiresAt: { [Op.gt]: now } } },
      );
      return taken === 1 ? register.argumentsOf(id) : undefined;
    },
    async proceed(id, round, binding) {
      const where = { ...binding, id, state: "used" as const, round };
      const [taken] = await approvals.update({ round: round + 1 }, { where });
      return taken === 1;
    },
    async argumentsOf(id) {
      const row = await approvals.findByPk(id);
      if (row === null) throw new JackfieldError("approval_unknown");
      return openArguments(keyring, row);
    },
    async decided(id, signal, ms) {
      const look = async () => {
        const row = await approvals.findByPk(id);
        return row === null || row.state === "pending" ? undefined : withoutArguments(row);
      };
      await waitUntil(async () => (await look()) !== undefined, { bus, id, signal, ms });
      return look();
    },
    async expire(row) {
      const now = new Date(clock());
      const [ended] = await approvals.update(
        { state: "expired", openKey: null },
        { where: { id: row.id, state: ["pending", "approved"], expiresAt: { [Op.lte]: now } } },
      );
      if (ended !== 1) return false;
      const { principalKind, principalIssuer, principalSubject, principalName } = row;
      audit.record({
        ...auditedCall(row),
        ...{ principalKind, principalIssuer, principalSubject, principalName },
        decision: "refuse",
        reason: row.state === "pending" ? "nobody decided in time" : "it was approved and not used in time",
        outcome: "refused",
        outcomeCode: "approval_expired",
      });
      await bus.publish("approvals", { id: row.id });
      return true;
    },
  };
  return register;
}

function newRow(
  { principal, endpoint }: GatewayCaller,
  entry: ToolEntry,
  binding: Binding,
  { decider, now, validForMs }: { decider: ApprovalRow["decider"]; now: number; validForMs: number },
): Approval {
  return {
    id: ulid(now),
    ...binding,
    endpointSlug: endpoint.slug,
    connectionSlug: entry.connection.slug,
    action: entry.action,
    class: entry.class,
    principalKind: principal.kind,
    principalIssuer: principal.issuer,
    principalSubject: principal.subject,
    principalName: principal.name,
    decider,
    selfApprove: entry.connection.approvals?.selfApprove === true && !entry.floor ? 1 : 0,
    state: "pending",
    round: 0,
    createdAt: new Date(now),
    expiresAt: new Date(now + validForMs),
    decidedAt: null,
    decidedBy: null,
    deciderName: null,
    reason: null,
    usedAt: null,
  };
}

/** Resolves when `done` says so: asked at once, at each message about the record, and now and then. */
async function waitUntil(
  done: () => Promise<boolean>,
  { bus, id, signal, ms }: { bus: Bus; id: string; signal: AbortSignal; ms: number },
): Promise<void> {
  if (signal.aborted || (await done())) return;
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      clearInterval(looking);
      unsubscribe();
      signal.removeEventListener("abort", end);
    };
    const end = () => {
      stop();
      resolve();
    };
    const look = () =>
      done().then(
        (is) => {
          if (is) end();
        },
        (error: unknown) => {
          stop();
          reject(error);
        },
      );
    const timer = setTimeout(end, ms);
    const looking = setInterval(look, LOOK_EVERY_MS);
    // An empty message: one may have been lost.
    const unsubscribe = bus.subscribe("approvals", (message) => {
      if (message["id"] === undefined || message["id"] === id) void look();
    });
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    else void look();
  });
}
