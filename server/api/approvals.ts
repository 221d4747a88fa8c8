/** `/api/approvals`: calls that wait for a person, and deciding about them. */
import { z } from "zod";
import type { Decisions, Person } from "../gateway/approvals/decisions.ts";
import type { Approval } from "../gateway/approvals/record.ts";
import { APPROVAL_STATES } from "../store/models/approvals.ts";
import type { ApiCaller } from "./caller.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute, inputProblem } from "./route.ts";

const moment = z.iso.datetime();
const states = z.enum(APPROVAL_STATES);
const params = z.object({ id: z.string() });

const fields = {
  id: z.string(),
  state: states,
  tool: z.string().meta({ description: "`<connection>__<action>`" }),
  connection: z.string(),
  endpoint: z.string(),
  access: z.enum(["read", "write"]),
  caller: z.object({ kind: z.enum(["agent", "person"]), subject: z.string(), name: z.string() }),
  decider: z.enum(["approver", "caller"]),
  createdAt: moment,
  expiresAt: moment,
  decidedAt: moment.nullable(),
  decidedBy: z.string().nullable().meta({ description: "Name of who decided" }),
  reason: z.string().nullable(),
  usedAt: moment.nullable(),
};
const summary = z.object(fields).meta({ id: "Approval" });
const exact = z
  .object({
    ...fields,
    arguments: z.record(z.string(), z.unknown()).meta({ description: "Exactly as they will be sent" }),
    standing: z.boolean().meta({ description: "Whether what governs the call is as it was when it was proposed" }),
    mayApprove: z.boolean().meta({ description: "Whether the caller of this request may approve it now" }),
  })
  .meta({ id: "ApprovalInFull" });

export function approvalRoutes({ decisions }: ApiParts): ApiRoute[] {
  return [
    defineRoute({
      method: "get",
      path: "/approvals",
      id: "listApprovals",
      summary: "List calls that need an approval, newest first",
      description: "Those of the organization with `approvals:decide`, else the caller's own.",
      permission: "member",
      query: z.object({
        state: states.optional(),
        limit: z.coerce.number().int().min(1).max(200).default(50),
        before: z.string().optional().meta({ description: "Id of the last one of the page before" }),
      }),
      response: z.object({ approvals: z.array(summary) }),
      async handle({ caller, query: { state, limit, before } }) {
        const filter = { limit, ...(state ? { state } : {}), ...(before === undefined ? {} : { before }) };
        const found = await decisions.list(personOf(caller), filter);
        return { approvals: found.map(shown) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/approvals/:id",
      id: "getApproval",
      summary: "Show one call exactly as it will be sent",
      permission: "member",
      params,
      response: exact,
      errors: ["approval_unknown"],
      handle: ({ caller, params: { id } }) => inFull(decisions, personOf(caller), id),
    }),
    defineRoute({
      method: "post",
      path: "/approvals/:id/decision",
      id: "decideApproval",
      summary: "Approve or refuse one call",
      description: "Only people at a browser decide; no token does, whatever it may. Refusing takes a reason.",
      permission: "person",
      session: true,
      params,
      body: z.object({ decision: z.enum(["approve", "refuse"]), reason: z.string().max(1000).optional() }),
      response: exact,
      errors: ["approval_unknown", "approval_not_yours", "approval_decided", "approval_expired", "approval_changed"],
      async handle({ caller, params: { id }, body: { decision, reason = "" } }) {
        if (decision === "refuse" && reason.trim() === "") {
          throw inputProblem([{ field: "body.reason", message: "say why: the caller reads it" }]);
        }
        await decisions.decide(personOf(caller), id, { approve: decision === "approve", reason });
        return inFull(decisions, personOf(caller), id);
      },
    }),
  ];
}

async function inFull(decisions: Decisions, person: Person, id: string) {
  const { approval, args, standing, objection } = await decisions.show(person, id);
  const mayApprove = approval.state === "pending" && standing && objection === undefined;
  return { ...shown(approval), arguments: args, standing, mayApprove };
}

/** Whoever asks, as somebody who looks and decides. */
function personOf({ kind, key, permissions, organizationId, issuer, subject, name }: ApiCaller): Person {
  return {
    ...{ kind, key, organizationId },
    permitted: permissions.has("approvals:decide"),
    ...{ principalKind: kind, principalIssuer: issuer, principalSubject: subject, principalName: name },
  };
}

function shown(approval: Approval) {
  const { principalKind, principalSubject, principalName } = approval;
  return {
    ...{ id: approval.id, state: approval.state, tool: approval.toolName, access: approval.class },
    ...{ connection: approval.connectionSlug, endpoint: approval.endpointSlug },
    caller: { kind: principalKind, subject: principalSubject, name: principalName },
    decider: approval.decider,
    createdAt: approval.createdAt.toISOString(),
    expiresAt: approval.expiresAt.toISOString(),
    decidedAt: approval.decidedAt?.toISOString() ?? null,
    decidedBy: approval.deciderName,
    reason: approval.reason,
    usedAt: approval.usedAt?.toISOString() ?? null,
  };
}
