/** `/account`: who one is, where one is signed in, and with what. */
import type { Request, Response } from "express";
import type { Audit } from "../observe/audit.ts";
import type { ExternalSignIn } from "../people/external-sign-in.ts";
import { hasPassword } from "../people/password-change.ts";
import { personActor } from "../people/people.ts";
import { noteChange, type PeopleChange } from "../people/people-audit.ts";
import type { Providers } from "../people/providers/providers.ts";
import type { SignedIn, WebSessions } from "../people/web-sessions.ts";
import type { Store } from "../store/database.ts";
import { setPageHeaders } from "./headers.ts";
import { moment } from "./moment.ts";
import { fieldOf, organizationLabel, type Pages } from "./pages.ts";
import { askAgain, isRecent } from "./recent.ts";

export interface AccountPageParts {
  readonly pages: Pages;
  readonly store: Store;
  readonly audit: Audit;
  readonly sessions: WebSessions;
  readonly external: ExternalSignIn;
  readonly providers: Providers;
  /** Has every process look at a person's tokens anew. */
  readonly changed: (personId: string) => Promise<void>;
  readonly clock: () => number;
}

/** Shows the page. */
export async function showAccount(parts: AccountPageParts, request: Request, response: Response): Promise<void> {
  const { pages, store, sessions, external, providers } = parts;
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  const { person, session, organizationIds, role, groups } = signedIn;
  const open = await sessions.list(person.id);
  const identities = await external.identities.list(person.id);
  const organizations = await store.models.organizations.findAll({
    where: { id: [...organizationIds] },
    order: [["id", "ASC"]],
  });
  const labelOf = (id: string): string => providers.get(id)?.label ?? id;
  pages.render(response, {
    view: "account",
    title: "Your account",
    wide: true,
    // The buttons that link an identity lead to other sites.
    forms: "away",
    data: {
      person,
      hasPassword: await hasPassword(store, person.id),
      organizations: organizations.map((row) => ({
        name: organizationLabel(row),
        role: role(row.id),
        groups: groups(row.id).join(", "),
      })),
      sessions: open.map(({ id, means, address, userAgent, createdAt, lastSeenAt }) => ({
        id,
        current: id === session.id,
        means: means === null ? "" : labelOf(means).replaceAll("_", " "),
        address: address ?? "",
        userAgent: userAgent ?? "An unknown browser",
        since: moment(createdAt),
        lastSeen: moment(lastSeenAt),
      })),
      identities: identities.map(({ id, provider, label, lastUsedAt }) => ({
        id,
        label,
        provider: labelOf(provider),
        lastUsed: moment(lastUsedAt),
      })),
      providers: providers.list().map(({ file, label }) => ({ id: file.id, label })),
      csrf: pages.csrfToken(request, response),
    },
  });
}

/** Ends one session, or all of them: then this browser is signed out, too. */
export async function endAccountSessions(parts: AccountPageParts, request: Request, response: Response): Promise<void> {
  const { pages, sessions } = parts;
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  const { person, session } = signedIn;
  const id = fieldOf(request.body, "session");
  if (id === "all") {
    const ended = await sessions.endAll(person.id);
    note(parts, signedIn, "sessions_ended", `${person.username}: ${ended} browsers, their own`);
    for (const cookie of await sessions.end(request)) response.append("set-cookie", cookie);
    return pages.renderMessage(response, {
      status: 200,
      title: "You are signed out everywhere",
      text: "In every browser. Clients that you connected keep working; you can end them where they are listed.",
      action: { label: "Sign in again", href: "/sign-in" },
    });
  }
  if (await sessions.endOne(person.id, id)) note(parts, signedIn, "sessions_ended", `${person.username}: one browser`);
  if (id === session.id) for (const cookie of await sessions.end(request)) response.append("set-cookie", cookie);
  back(response);
}

/** Unlinks an identity, unless nothing would be left to sign in with. */
export async function unlinkIdentity(parts: AccountPageParts, request: Request, response: Response): Promise<void> {
  const { pages, store, external } = parts;
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  if (!isRecent(signedIn, parts.clock())) return askAgain(response, "/account");
  const { person } = signedIn;
  const id = fieldOf(request.body, "identity");
  const identities = await external.identities.list(person.id);
  const identity = identities.find((one) => one.id === id);
  if (identity !== undefined && identities.length === 1 && !(await hasPassword(store, person.id))) {
    return pages.renderMessage(response, {
      status: 409,
      title: "Nothing would be left to sign in with",
      text: "Set a password first, or link another sign-in.",
      action: { label: "Set a password", href: "/account/password" },
    });
  }
  if (identity !== undefined && (await external.identities.unlink(person.id, id))) {
    note(parts, signedIn, "identity_unlinked", `${person.username}: ${identity.label} at ${identity.provider}`);
    // What its claims said is not said any more.
    await parts.changed(person.id);
  }
  back(response);
}

function note({ audit }: AccountPageParts, signedIn: SignedIn, change: PeopleChange, reason: string): void {
  for (const organizationId of signedIn.organizationIds) {
    noteChange(audit, personActor(signedIn.person), change, { organizationId, reason });
  }
}

function back(response: Response): void {
  setPageHeaders(response, "own");
  response.redirect(303, "/account");
}
