/** `/api/members` and `/api/invitations`: who belongs to the organization. */
import { z } from "zod";
import { JackfieldError } from "../errors.ts";
import type { Member } from "../people/members.ts";
import { linkPath } from "../people/one-time-links.ts";
import { ROLES } from "../store/models/members.ts";
import { actorOf } from "./actor.ts";
import { pageOf, pageOfAll, pageQuery } from "./pagination.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

const moment = z.iso.datetime();
const role = z.enum(ROLES);
const groupNames = z.array(z.string().min(1).max(128)).max(100);
const params = z.object({ id: z.ulid() });

const member = z
  .object({
    id: z.ulid(),
    username: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    role,
    groups: z.array(z.object({ name: z.string(), source: z.string() })),
    createdAt: moment,
    disabled: z.boolean(),
  })
  .meta({ id: "Member" });

const invitation = z
  .object({
    id: z.ulid(),
    role,
    name: z.string().nullable(),
    groups: z.array(z.string()),
    createdBy: z.string().nullable(),
    createdAt: moment,
    expiresAt: moment,
  })
  .meta({ id: "Invitation" });

const link = z.object({ url: z.string().meta({ description: "Works once. Shown this once." }), expiresAt: moment });

export function peopleRoutes({ members, invitations, publicOrigin }: ApiParts): ApiRoute[] {
  const shown = async (organizationId: string, personId: string) => {
    const { person, role: has, groups } = await members.get(organizationId, personId);
    return viewOf({ person, role: has, groups });
  };
  return [
    defineRoute({
      method: "get",
      path: "/members",
      id: "listMembers",
      summary: "List the members",
      permission: "members:write",
      query: z.object(pageQuery),
      response: pageOf(member),
      async handle({ caller, query }) {
        const all = await members.list(caller.organizationId);
        const { items, nextCursor } = pageOfAll(all, query, ({ person }) => person.id);
        return { items: items.map(viewOf), nextCursor };
      },
    }),
    defineRoute({
      method: "patch",
      path: "/members/:id",
      id: "updateMember",
      summary: "Change a member's role, or the groups given by hand",
      permission: "members:write",
      recent: true,
      params,
      body: z.strictObject({ role: role.optional(), groups: groupNames.optional() }),
      response: member,
      errors: ["person_unknown", "last_admin", "invalid_people"],
      async handle({ caller, params: { id }, body }) {
        const { organizationId } = caller;
        const actor = actorOf(caller);
        if (body.groups !== undefined) await members.setGroups(actor, organizationId, id, body.groups);
        if (body.role !== undefined) await members.changeRole(actor, organizationId, id, body.role);
        return shown(organizationId, id);
      },
    }),
    defineRoute({
      method: "delete",
      path: "/members/:id",
      id: "removeMember",
      summary: "Remove a member and end everything they had",
      permission: "members:write",
      recent: true,
      params,
      status: 200,
      response: z.object({ sessions: z.int(), grants: z.int(), tokens: z.int(), accounts: z.int() }),
      errors: ["person_unknown", "last_admin"],
      handle: ({ caller, params: { id } }) => members.remove(actorOf(caller), caller.organizationId, id),
    }),
    defineRoute({
      method: "post",
      path: "/members/:id/sign-out",
      id: "signOutMember",
      summary: "Sign a member out everywhere",
      permission: "members:write",
      params,
      response: z.object({ ended: z.int() }),
      errors: ["person_unknown"],
      handle: async ({ caller, params: { id } }) => ({
        ended: await members.endSessions(actorOf(caller), caller.organizationId, id),
      }),
    }),
    defineRoute({
      method: "post",
      path: "/members/:id/reset-link",
      id: "makeResetLink",
      summary: "Make a link with which a member chooses a new password",
      permission: "members:write",
      recent: true,
      params,
      status: 201,
      response: link,
      errors: ["person_unknown", "invalid_people"],
      async handle({ caller, params: { id } }) {
        const made = await invitations.resetLink(actorOf(caller), caller.organizationId, id);
        return { url: `${publicOrigin()}${linkPath("reset", made.secret)}`, expiresAt: made.expiresAt.toISOString() };
      },
    }),
    defineRoute({
      method: "get",
      path: "/invitations",
      id: "listInvitations",
      summary: "List the invitations that nobody took yet",
      permission: "members:write",
      query: z.object(pageQuery),
      response: pageOf(invitation),
      async handle({ caller, query }) {
        const all = await invitations.list(caller.organizationId);
        const { items, nextCursor } = pageOfAll(all, query, ({ id }) => id);
        return {
          nextCursor,
          items: items.map(({ id, role: has, name, memberGroups, createdBy, createdAt, expiresAt }) => ({
            ...{ id, role: has, name, createdBy, groups: memberGroups ?? [] },
            createdAt: createdAt.toISOString(),
            expiresAt: expiresAt.toISOString(),
          })),
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/invitations",
      id: "createInvitation",
      summary: "Invite somebody by a link",
      permission: "members:write",
      recent: true,
      body: z.strictObject({
        role: role.default("member"),
        name: z.string().min(1).max(128).optional(),
        groups: groupNames.default([]),
      }),
      status: 201,
      response: link,
      errors: ["invalid_people"],
      limit: { points: 200, perMs: 3_600_000 },
      async handle({ caller, body: { name, ...same } }) {
        const { organizationId } = caller;
        const wish = { organizationId, ...same, ...(name === undefined ? {} : { name }) };
        const made = await invitations.invite(actorOf(caller), wish);
        return { url: `${publicOrigin()}${linkPath("invite", made.secret)}`, expiresAt: made.expiresAt.toISOString() };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/invitations/:id",
      id: "endInvitation",
      summary: "Take an invitation back",
      permission: "members:write",
      params,
      errors: ["not_found"],
      async handle({ caller, params: { id } }) {
        const ended = await invitations.end(actorOf(caller), caller.organizationId, id);
        if (!ended) throw new JackfieldError("not_found");
        return undefined;
      },
    }),
  ];
}

function viewOf({ person, role: has, groups }: Pick<Member, "person" | "role" | "groups">): z.input<typeof member> {
  const { id, username, name, email, createdAt, disabledAt } = person;
  return {
    ...{ id, username, name, email, role: has, disabled: disabledAt !== null },
    groups: groups.map((group) => ({ ...group })),
    createdAt: createdAt.toISOString(),
  };
}
