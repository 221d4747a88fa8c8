/** What the roles of an organization may do, and the one place where it is checked. */
import { JackfieldError } from "../errors.ts";
import type { MemberRow } from "../store/models/members.ts";

export const PERMISSIONS = [
  "connections:read",
  "connections:write",
  "tools:use",
  "approvals:decide",
  "members:write",
  "audit:read",
] as const;

export type Permission = (typeof PERMISSIONS)[number];
export type Role = MemberRow["role"];

const GRANTED: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  admin: new Set(PERMISSIONS),
  // Beside their own accounts and tokens, which need no permission.
  member: new Set(["tools:use"]),
};

/** Whether a role carries a permission; nobody's role (undefined) carries none. */
export function may(role: Role | undefined, permission: Permission): boolean {
  return role !== undefined && GRANTED[role].has(permission);
}

/** Who changes something: as permissions judge them and as the audit names them. */
export interface Actor {
  readonly kind: "person" | "agent" | "operator";
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  /** Whether they have a permission in an organization. */
  may(organizationId: string, permission: Permission): boolean;
}

/** Issuer of whoever works at the command line of the server: its operator, who may do everything. */
export const OPERATOR_ISSUER = "urn:jackfield:operator";

/** Whoever has the server's files and key: the command line. */
export const OPERATOR: Actor = Object.freeze({
  kind: "operator",
  issuer: OPERATOR_ISSUER,
  subject: "cli",
  name: "The operator",
  may: () => true,
});

/** Throws `permission_missing`, with the permission's name, where the actor does not have it in the organization. */
export function demand(actor: Actor, organizationId: string, permission: Permission): void {
  if (actor.may(organizationId, permission)) return;
  throw new JackfieldError("permission_missing", { text: `This needs the permission ${permission}.` });
}
