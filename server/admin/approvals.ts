/** `/approvals`: the calls that wait for a person, and those that were decided. */
import type { Request, Response } from "express";
import type { Decisions, Person } from "../gateway/approvals/decisions.ts";
import type { Approval } from "../gateway/approvals/record.ts";
import { PEOPLE_ISSUER, personKey } from "../people/people.ts";
import { may } from "../people/permissions.ts";
import type { SignedIn } from "../people/web-sessions.ts";
import type { Pages } from "./pages.ts";

export interface ApprovalPageParts {
  readonly pages: Pages;
  readonly decisions: Decisions;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** How a state is called, and the colour of its badge. */
const STATES = {
  pending: { label: "Waiting", badge: "is-changed" },
  approved: { label: "Approved", badge: "is-allowed" },
  refused: { label: "Refused", badge: "is-refused" },
  used: { label: "Approved and run", badge: "is-allowed" },
  expired: { label: "Expired", badge: "is-hidden" },
} as const;

/** Who looks, in each of their organizations. */
export function decidersOf({ person, organizationIds, role }: SignedIn): Person[] {
  return organizationIds.map((organizationId) => ({
    kind: "person",
    key: personKey(person.id),
    permitted: may(role(organizationId), "approvals:decide"),
    organizationId,
    principalKind: "person",
    principalIssuer: PEOPLE_ISSUER,
    principalSubject: person.id,
    principalName: person.name,
  }));
}

/** Shows what waits and the last that were decided: of the organization, or of the person alone. */
export async function showApprovals(parts: ApprovalPageParts, request: Request, response: Response): Promise<void> {
  const signedIn = await parts.pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  const deciders = decidersOf(signedIn);
  const lists = await Promise.all(deciders.map((person) => parts.decisions.list(person, { limit: 100 })));
  const all = lists.flat().sort((a, b) => (a.id < b.id ? 1 : -1));
  const now = parts.clock();
  const waiting = all.filter(({ state, expiresAt }) => state === "pending" && expiresAt.getTime() > now);
  parts.pages.render(response, {
    view: "approvals",
    title: "Approvals",
    wide: true,
    data: {
      everybody: deciders.some(({ permitted }) => permitted),
      waiting: waiting.map((approval) => shown(approval, now)),
      decided: all.filter((approval) => !waiting.includes(approval)).map((approval) => shown(approval, now)),
    },
  });
}

/** An approval as the views show it. */
export function shown(approval: Approval, now: number) {
  const over = approval.expiresAt.getTime() <= now && (approval.state === "pending" || approval.state === "approved");
  const state = over ? "expired" : approval.state;
  return {
    href: `/approvals/${approval.id}`,
    tool: approval.toolName,
    connection: approval.connectionSlug,
    endpoint: approval.endpointSlug,
    access: approval.class,
    caller: approval.principalName,
    agent: approval.principalKind === "agent",
    state,
    ...STATES[state],
    asked: moment(approval.createdAt),
    until: moment(approval.expiresAt),
    decided: approval.decidedAt === null ? "" : moment(approval.decidedAt),
    used: approval.usedAt === null ? "" : moment(approval.usedAt),
    decider: approval.deciderName ?? "",
    reason: approval.reason ?? "",
  };
}

/** A moment that means the same to everybody. */
function moment(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
