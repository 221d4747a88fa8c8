/** `/invite/<secret>`: takes an invitation, as somebody new or as who one is already. */
import type { Request, Response } from "express";
import { JackfieldError } from "../errors.ts";
import type { Audit } from "../observe/audit.ts";
import type { Invitations } from "../people/invitations.ts";
import { linkPath, type OneTimeLink, type OneTimeLinks } from "../people/one-time-links.ts";
import type { Person } from "../people/people.ts";
import type { Providers } from "../people/providers/providers.ts";
import { prepareSignInRecord } from "../people/sign-in-audit.ts";
import type { WebSessions } from "../people/web-sessions.ts";
import type { Store } from "../store/database.ts";
import { LINK_ENDED } from "./external-sign-in.ts";
import { setPageHeaders } from "./headers.ts";
import { fieldOf, organizationLabel, type Pages } from "./pages.ts";
import { type FieldProblem, type FilledPerson, filledOf, personProblems, problemData } from "./person-form.ts";

export interface InvitePageParts {
  readonly pages: Pages;
  readonly store: Store;
  readonly audit: Audit;
  readonly sessions: WebSessions;
  readonly links: OneTimeLinks;
  readonly invitations: Invitations;
  readonly providers: Providers;
}

interface Opened {
  readonly link: OneTimeLink;
  readonly secret: string;
  /** The only person it is for, where it is for one. */
  readonly only: (Person & { readonly removed: boolean }) | undefined;
}

/** Shows what the invitation is for. Mail scanners and previews open links: looking uses nothing up. */
export async function showInvitation(parts: InvitePageParts, request: Request, response: Response): Promise<void> {
  const opened = await open(parts, request);
  if (opened === undefined) return parts.pages.renderMessage(response, LINK_ENDED);
  const { link, only } = opened;
  await render(parts, request, response, opened, {
    name: only?.name ?? link.name ?? "",
    username: only?.username ?? "",
  });
}

/** Takes it, and signs whoever is new in. */
export async function takeInvitation(parts: InvitePageParts, request: Request, response: Response): Promise<void> {
  const { pages, sessions, invitations } = parts;
  const opened = await open(parts, request);
  if (opened === undefined) return pages.renderMessage(response, LINK_ENDED);
  const { link, only } = opened;
  try {
    if (fieldOf(request.body, "how") === "join") {
      const signedIn = await pages.requirePerson(request, response);
      if (signedIn === undefined) return;
      await invitations.acceptAs(link, signedIn.person.id);
      return goHome(response);
    }
    // Somebody who may sign in proves who they are by doing so.
    if (only !== undefined && !only.removed) return await showInvitation(parts, request, response);
    const filled = only === undefined ? filledOf(request) : { name: only.name, username: only.username };
    const password = fieldOf(request.body, "password");
    const problems = personProblems(filled, password, only === undefined);
    if (problems.length > 0) return await render(parts, request, response, opened, filled, problems);
    const person =
      only === undefined
        ? await invitations.acceptAsNew(link, { ...filled, password })
        : await invitations.acceptReturning(link, password);
    (await prepareSignInRecord(parts, person))("invitation", true);
    const cookies = await sessions.start(request, person.id, { means: "invitation" });
    for (const cookie of cookies) response.append("set-cookie", cookie);
    goHome(response);
  } catch (error) {
    if (!(error instanceof JackfieldError)) throw error;
    if (error.code === "link_ended") return pages.renderMessage(response, LINK_ENDED);
    if (error.code !== "username_taken") throw error;
    await render(parts, request, response, opened, filledOf(request), [{ field: "username", text: error.message }]);
  }
}

async function open({ links, store }: InvitePageParts, request: Request): Promise<Opened | undefined> {
  const { secret } = request.params;
  const link = typeof secret === "string" ? await links.find(secret) : undefined;
  if (link?.kind !== "invite" || typeof secret !== "string") return undefined;
  const only = link.personId === null ? null : await store.models.people.findByPk(link.personId);
  if (only === null) return link.personId === null ? { link, secret, only: undefined } : undefined;
  const { passwordHash: _hash, ...person } = only.get({ plain: true });
  return { link, secret, only: { ...person, removed: person.disabledAt !== null } };
}

async function render(
  { pages, store, providers }: InvitePageParts,
  request: Request,
  response: Response,
  { link, secret, only }: Opened,
  filled: FilledPerson,
  problems: readonly FieldProblem[] = [],
): Promise<void> {
  const signedIn = await pages.personOf(request);
  const mayJoin = signedIn !== undefined && (only === undefined || only.id === signedIn.person.id);
  const organization = organizationLabel(await store.models.organizations.findByPk(link.organizationId));
  const heading = `Join ${organization}`;
  pages.render(response, {
    view: "invite",
    title: problems.length === 0 ? heading : `Error: ${heading}`,
    status: problems.length === 0 ? 200 : 422,
    // Buttons of providers lead to other sites.
    forms: "away",
    data: {
      ...filled,
      ...problemData(problems),
      organization,
      intro: `${link.createdBy ?? "An admin"} invites you as ${link.role === "admin" ? "an admin" : "a member"}. The link works once.`,
      joinAs: mayJoin ? signedIn.person.name : undefined,
      signInAs: !mayJoin && only?.removed === false ? only.username : undefined,
      asksWho: only === undefined,
      button: only === undefined ? "Create your account" : "Save the password and come back",
      providers: providers.list().map(({ file, label }) => ({ id: file.id, label })),
      secret,
      path: linkPath("invite", secret),
      csrf: pages.csrfToken(request, response),
    },
  });
}

function goHome(response: Response): void {
  setPageHeaders(response, "own");
  response.redirect(303, "/");
}
