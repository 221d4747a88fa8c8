/** What the roles of an organization may do. */
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
