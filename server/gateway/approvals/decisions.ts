/** Deciding about calls, for the page, the API, the command line and the caller's own client. */
import { Op, type WhereOptions } from "sequelize";
import type { JsonObject } from "../../../adapters/contract.ts";
import { type Decider, objectionToDecider } from "../../access/approvals.ts";
import { JackfieldError } from "../../errors.ts";
import type { Audit } from "../../observe/audit.ts";
import type { Bus } from "../../shared-state/contract.ts";
import type { Store } from "../../store/database.ts";
import type { ApprovalRow } from "../../store/models/approvals.ts";
import { type Approval, type AuditedActor, auditedCall, withoutArguments } from "./record.ts";
import { isId, type Register } from "./register.ts";

/** Somebody who looks at approvals, or decides. */
export interface Person extends Decider, AuditedActor {
  readonly organizationId: string;
}

export interface Decision {
  readonly approve: boolean;
  /** What the person says about it; at most 1,000 characters are kept. */
  readonly reason?: string;
}

/** An approval with the exact call. */
export interface ShownApproval {
  readonly approval: Approval;
  readonly args: JsonObject;
  /** Whether what governed the call is as it was when it was proposed; else it can only be refused. */
  readonly standing: boolean;
  /** Why this person cannot approve it; undefined where they can. Nothing is said of one that is decided. */
  readonly objection: JackfieldError | undefined;
}

export interface Decisions {
  /** Newest first: those of the organization for who may decide, else the person's own. */
  list(
    person: Person,
    options?: { state?: ApprovalRow["state"]; limit?: number; before?: string },
  ): Promise<Approval[]>;
  /** One of these, with the exact call. @throws JackfieldError `approval_unknown` */
  show(person: Person, id: string): Promise<ShownApproval>;
  /**
   * Decides.
   * @throws JackfieldError `approval_unknown`, `approval_not_yours`, `approval_decided`, `approval_expired`, or
   * `approval_changed` where the policy is not the one under which the call was proposed
   */
  decide(person: Person, id: string, decision: Decision): Promise<Approval>;
}

export interface DecisionsOptions {
  store: Store;
  register: Register;
  audit: Pick<Audit, "begin" | "finish">;
  bus: Bus;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Whether the call would be made now under the policy revision under which it was proposed. */
  stands: (approval: Approval) => boolean;
}

const MOST_LISTED = 200;
const MAX_REASON = 1_000;
const NOT_YOURS = {
  agent: "An agent's token decides nothing: a person does.",
  own_call: "This is your own call: somebody else must approve it.",
  not_permitted: "You may not decide about calls; an administrator may.",
} as const;

/** Makes the deciding part. */
export function createDecisions(options: DecisionsOptions): Decisions {
  const { store, register, audit, bus, clock, stands } = options;
  const { approvals } = store.models;

  /** What a person may see: everything of the organization, or their own calls. */
  const visible = ({ organizationId, permitted, key }: Person): WhereOptions<ApprovalRow> =>
    permitted ? { organizationId } : { organizationId, principalKey: key ?? "" };

  async function find(person: Person, id: string): Promise<ApprovalRow> {
    const row = isId(id) ? await approvals.findOne({ where: { [Op.and]: [visible(person), { id }] } }) : null;
    if (row === null) throw new JackfieldError("approval_unknown", { text: "There is no such approval." });
    return row;
  }

  async function pendingRow(person: Person, id: string): Promise<ApprovalRow> {
    const row = await find(person, id);
    await register.expire(row);
    const now = await find(person, id);
    if (now.state === "expired") throw new JackfieldError("approval_expired", { text: "The time to decide is over." });
    if (now.state !== "pending") throw alreadyDecided(now);
    return now;
  }

  return {
    async list(person, { state, limit = 50, before } = {}) {
      const rows = await approvals.findAll({
        where: {
          [Op.and]: [
            visible(person),
            state === undefined ? {} : { state },
            // What is over is not pending, though nobody may have said so yet.
            state === "pending" || state === "approved" ? { expiresAt: { [Op.gt]: new Date(clock()) } } : {},
            before === undefined || !isId(before) ? {} : { id: { [Op.lt]: before } },
          ],
        },
        order: [["id", "DESC"]],
        limit: Math.min(limit, MOST_LISTED),
      });
      return rows.map(withoutArguments);
    },
    async show(person, id) {
      const row = await find(person, id);
      const ended = await register.expire(row);
      const approval = withoutArguments(ended ? await find(person, id) : row);
      return {
        approval,
        args: await register.argumentsOf(id),
        standing: stands(approval),
        objection: objectionOf(approval, person, true),
      };
    },
    async decide(person, id, { approve, reason }) {
      const approval = withoutArguments(await pendingRow(person, id));
      const objection = objectionOf(approval, person, approve);
      if (objection !== undefined) throw objection;
      if (approve && !stands(approval)) {
        throw new JackfieldError("approval_changed", {
          text: "The policy or the tool changed after this call was proposed, so it cannot be approved any more. The caller must propose it again.",
        });
      }
      const said = cleanReason(reason);
      const { principalKind, principalIssuer, principalSubject, principalName } = person;
      const handle = await audit.begin({
        ...auditedCall(approval),
        ...{ principalKind, principalIssuer, principalSubject, principalName },
        decision: approve ? "allow" : "refuse",
        ...(said === undefined ? {} : { reason: said }),
      });
      const now = new Date(clock());
      const [decided] = await approvals.update(
        {
          state: approve ? "approved" : "refused",
          openKey: null,
          decidedAt: now,
          decidedBy: `${principalIssuer} ${principalSubject}`.slice(0, 255),
          deciderName: principalName,
          reason: said ?? null,
        },
        { where: { id, state: "pending", expiresAt: { [Op.gt]: now } } },
      );
      const outcomeCode = approve ? "approval_granted" : "approval_refused";
      await audit.finish(
        handle,
        decided === 1 ? { outcome: "ok", outcomeCode } : { outcome: "error", outcomeCode: "approval_decided" },
      );
      await bus.publish("approvals", { id });
      if (decided !== 1) throw alreadyDecided(await find(person, id));
      return withoutArguments(await find(person, id));
    },
  };
}

function objectionOf(approval: Approval, person: Person, approve: boolean): JackfieldError | undefined {
  const { principalKey, decider, selfApprove } = approval;
  const why = objectionToDecider({ callerKey: principalKey, decider, selfApprove: selfApprove === 1 }, person, approve);
  return why && new JackfieldError("approval_not_yours", { text: NOT_YOURS[why] });
}

function alreadyDecided({ state, deciderName }: Approval): JackfieldError {
  const who = deciderName === null ? "" : ` by ${deciderName}`;
  const what = state === "used" ? "approved and used" : state;
  return new JackfieldError("approval_decided", { text: `This call was ${what}${who} before.` });
}

/** A person's words without what could move a cursor or hide; undefined where nothing is left. */
function cleanReason(reason: string | undefined): string | undefined {
  const clean = (reason ?? "").replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return clean === "" ? undefined : [...clean].slice(0, MAX_REASON).join("");
}
