/** `/members` and `/o/<organization>/members`: who belongs to an organization, and what admins change about it. */
import type { Request, Response } from "express";
import { FIRST_ORGANIZATION } from "../connections/files.ts";
import { JackfieldError } from "../errors.ts";
import { namesOf } from "../people/groups.ts";
import type { Invitations } from "../people/invitations.ts";
import type { Members } from "../people/members.ts";
import { linkPath, type MadeLink } from "../people/one-time-links.ts";
import { personActor } from "../people/people.ts";
import { type Actor, may, type Role } from "../people/permissions.ts";
import type { Providers } from "../people/providers/providers.ts";
import type { WebSessions } from "../people/web-sessions.ts";
import type { Store } from "../store/database.ts";
import type { OrganizationRow } from "../store/models/organizations.ts";
import { setPageHeaders } from "./headers.ts";
import { moment } from "./moment.ts";
import { fieldOf, organizationLabel, type Pages } from "./pages.ts";

export interface MembersPageParts {
  readonly pages: Pages;
  readonly store: Store;
  readonly members: Members;
  readonly invitations: Invitations;
  readonly sessions: WebSessions;
  readonly providers: Providers;
  readonly publicOrigin: () => string;
}

/** An admin at the pages of an organization. */
interface AtDesk {
  readonly organization: OrganizationRow;
  readonly actor: Actor;
  /** Id of the admin. */
  readonly self: string;
  /** Path of the list. */
  readonly path: string;
}

/** Shows the members and the open invitations. */
export async function showMembers(parts: MembersPageParts, request: Request, response: Response): Promise<void> {
  const desk = await deskOf(parts, request, response);
  if (desk !== undefined) await renderList(parts, desk, request, response);
}

/** Shows one member and what can be changed. */
export async function showMember(parts: MembersPageParts, request: Request, response: Response): Promise<void> {
  const desk = await deskOf(parts, request, response);
  if (desk !== undefined) await renderMember(parts, desk, request, response);
}

/** Makes an invitation; its link is shown now and never again. */
export async function sendInvitation(parts: MembersPageParts, request: Request, response: Response): Promise<void> {
  const desk = await deskOf(parts, request, response);
  if (desk === undefined) return;
  const { actor, organization } = desk;
  const name = fieldOf(request.body, "name").trim();
  const groups = groupsIn(fieldOf(request.body, "groups"));
  const made = await attempt(() =>
    parts.invitations.invite(actor, {
      organizationId: organization.id,
      role: roleIn(request),
      groups,
      ...(name === "" ? {} : { name }),
    }),
  );
  if (made instanceof JackfieldError) return renderList(parts, desk, request, response, { problem: made.message });
  await renderList(parts, desk, request, response, { link: shownLink(parts, "invite", made) });
}

/** Takes an invitation back. */
export async function endInvitation(parts: MembersPageParts, request: Request, response: Response): Promise<void> {
  const desk = await deskOf(parts, request, response);
  if (desk === undefined) return;
  await parts.invitations.end(desk.actor, desk.organization.id, fieldOf(request.body, "invitation"));
  goTo(response, desk.path);
}

/** Does to a member what one of the forms of their page says. */
export async function changeMember(parts: MembersPageParts, request: Request, response: Response): Promise<void> {
  const desk = await deskOf(parts, request, response);
  if (desk === undefined) return;
  const { actor, organization, path } = desk;
  const personId = personOf(request);
  const change = fieldOf(request.body, "change");
  const done = await attempt(async () => {
    if (change === "role") await parts.members.changeRole(actor, organization.id, personId, roleIn(request));
    else if (change === "groups") {
      const names = groupsIn(fieldOf(request.body, "groups"));
      await parts.members.setGroups(actor, organization.id, personId, names);
    } else if (change === "sessions") await parts.members.endSessions(actor, organization.id, personId);
    else if (change === "remove") await parts.members.remove(actor, organization.id, personId);
    else if (change === "reset") return parts.invitations.resetLink(actor, organization.id, personId);
    return undefined;
  });
  if (done instanceof JackfieldError) {
    return renderMember(parts, desk, request, response, { problem: done.message, status: done.status });
  }
  if (done !== undefined) {
    return renderMember(parts, desk, request, response, { link: shownLink(parts, "reset", done) });
  }
  goTo(response, change === "remove" ? path : `${path}/${personId}`);
}

/** What is wrong with what was asked comes back; anything else goes on. */
async function attempt<T>(work: () => Promise<T>): Promise<T | JackfieldError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof JackfieldError && error.status < 500) return error;
    throw error;
  }
}

/** The organization of the address and its admin; to anybody else there is no such page. */
async function deskOf(
  { pages, store }: MembersPageParts,
  request: Request,
  response: Response,
): Promise<AtDesk | undefined> {
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return undefined;
  const { organization: named } = request.params;
  const slug = typeof named === "string" ? named : FIRST_ORGANIZATION;
  const organization = await store.models.organizations.findOne({ where: { slug } });
  if (organization !== null && may(signedIn.role(organization.id), "members:write")) {
    const path = typeof named === "string" ? `/o/${named}/members` : "/members";
    const actor = personActor(signedIn.person, signedIn.role);
    return { organization: organization.get({ plain: true }), actor, self: signedIn.person.id, path };
  }
  pages.renderMessage(response, {
    status: 404,
    title: "There is nothing here for you",
    text: "Members are shown to the admins of their organization.",
    action: { label: "Go to the start page", href: "/" },
  });
  return undefined;
}

interface Shown {
  problem?: string;
  status?: number;
  link?: { url: string; until: string };
}

async function renderList(
  { pages, members, invitations, providers }: MembersPageParts,
  { organization, path }: AtDesk,
  request: Request,
  response: Response,
  shown: Shown = {},
): Promise<void> {
  const [all, open] = [await members.list(organization.id), await invitations.list(organization.id)];
  pages.render(response, {
    view: "members",
    title: shown.problem === undefined ? "Members" : "Error: Members",
    status: shown.problem === undefined ? 200 : 422,
    wide: true,
    data: {
      problem: undefined,
      link: undefined,
      ...shown,
      organization: organizationLabel(organization),
      path,
      members: all.map(({ person, role, groups, identities, hasPassword }) => ({
        id: person.id,
        name: person.name,
        username: person.username,
        role,
        groups: namesOf(groups).join(", "),
        means: [
          ...(hasPassword ? ["Password"] : []),
          ...identities.map(({ provider }) => providers.get(provider)?.label ?? provider),
        ].join(", "),
      })),
      invitations: open.map(({ id, name, role, createdBy, expiresAt }) => ({
        id,
        name: name ?? "Somebody",
        role,
        by: createdBy ?? "",
        until: moment(expiresAt),
      })),
      csrf: pages.csrfToken(request, response),
    },
  });
}

async function renderMember(
  { pages, members, providers, sessions }: MembersPageParts,
  { organization, self, path }: AtDesk,
  request: Request,
  response: Response,
  { status = 200, ...shown }: Shown = {},
): Promise<void> {
  const member = await attempt(() => members.get(organization.id, personOf(request)));
  if (member instanceof JackfieldError) {
    return pages.renderMessage(response, {
      status: 404,
      title: "There is no such member",
      text: "They were removed, perhaps.",
      action: { label: "Go to the members", href: path },
    });
  }
  const { person, role, groups, identities, onlyHere } = member;
  const byHand = groups.filter(({ source }) => source === "").map(({ name }) => name);
  pages.render(response, {
    view: "member",
    title: shown.problem === undefined ? person.name : `Error: ${person.name}`,
    status,
    data: {
      problem: undefined,
      link: undefined,
      ...shown,
      person,
      role,
      isSelf: person.id === self,
      organization: organizationLabel(organization),
      path,
      groups: byHand.join(", "),
      mapped: groups
        .filter(({ source }) => source !== "")
        .map(({ name, source }) => `${name} (${providers.get(source)?.label ?? source})`)
        .join(", "),
      identities: identities.map(({ provider, label }) => `${providers.get(provider)?.label ?? provider}: ${label}`),
      browsers: (await sessions.list(person.id)).length,
      since: moment(person.createdAt),
      onlyHere,
      csrf: pages.csrfToken(request, response),
    },
  });
}

function shownLink({ publicOrigin }: MembersPageParts, kind: "invite" | "reset", { secret, expiresAt }: MadeLink) {
  return { url: new URL(linkPath(kind, secret), publicOrigin()).href, until: moment(expiresAt) };
}

function personOf(request: Request): string {
  const { person } = request.params;
  return typeof person === "string" ? person : "";
}

function roleIn(request: Request): Role {
  return fieldOf(request.body, "role") === "admin" ? "admin" : "member";
}

/** Names in a field, with commas between them. */
function groupsIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function goTo(response: Response, path: string): void {
  setPageHeaders(response, "own");
  response.redirect(303, path);
}
