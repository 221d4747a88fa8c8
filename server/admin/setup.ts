/** `/setup/<secret>`: opens a one-time link. A setup link makes the first admin, a reset link sets a new password. */
import type { Request, Response } from "express";
import { JackfieldError } from "../errors.ts";
import type { Audit } from "../observe/audit.ts";
import type { OneTimeLink } from "../people/one-time-links.ts";
import { hasAdmin, type Person } from "../people/people.ts";
import { resetPassword, type SetupParts, setUpAdmin } from "../people/setup.ts";
import { prepareSignInRecord } from "../people/sign-in-audit.ts";
import type { WebSessions } from "../people/web-sessions.ts";
import { setPageHeaders } from "./headers.ts";
import { fieldOf, type Pages } from "./pages.ts";
import { type FieldProblem, type FilledPerson, filledOf, personProblems, problemData } from "./person-form.ts";

export interface SetupPageParts extends SetupParts {
  pages: Pages;
  sessions: WebSessions;
  audit: Audit;
}

/** Shows the form. Mail scanners and previews open links: looking uses nothing up. */
export async function showSetup(parts: SetupPageParts, request: Request, response: Response): Promise<void> {
  const link = await linkOf(parts, request);
  if (link === undefined) return linkEnded(parts, response);
  renderForm(parts, request, response, link, await filledFor(parts, link), []);
}

/** Checks the form, does what the link is for and signs the person in. */
export async function sendSetup(parts: SetupPageParts, request: Request, response: Response): Promise<void> {
  const link = await linkOf(parts, request);
  if (link === undefined) return linkEnded(parts, response);
  const reset = link.kind === "reset";
  const filled = reset ? await filledFor(parts, link) : filledOf(request);
  const password = fieldOf(request.body, "password");
  const problems = personProblems(filled, password, !reset);
  if (problems.length > 0) return renderForm(parts, request, response, link, filled, problems);
  let person: Person;
  try {
    person = reset
      ? await resetPassword(parts, link, password)
      : await setUpAdmin(parts, link, { ...filled, password });
  } catch (error) {
    if (!(error instanceof JackfieldError)) throw error;
    if (error.code === "link_ended") return linkEnded(parts, response);
    if (error.code !== "username_taken") throw error;
    return renderForm(parts, request, response, link, filled, [{ field: "username", text: error.message }]);
  }
  // Whoever knew the old password may still be signed in somewhere.
  if (reset) await parts.sessions.endAll(person.id);
  const means = reset ? "reset_link" : "setup_link";
  (await prepareSignInRecord(parts, person))(means, true);
  for (const cookie of await parts.sessions.start(request, person.id, { means })) response.append("set-cookie", cookie);
  setPageHeaders(response, "own");
  response.redirect(303, "/");
}

/** The link, as long as it would still do something. */
async function linkOf({ store, links }: SetupPageParts, request: Request): Promise<OneTimeLink | undefined> {
  const { secret } = request.params;
  const link = await links.find(typeof secret === "string" ? secret : "");
  if (link === undefined || link.kind === "invite") return undefined;
  if (link.kind === "setup" && (await hasAdmin(store, link.organizationId))) return undefined;
  return link;
}

async function filledFor({ store }: SetupPageParts, link: OneTimeLink): Promise<FilledPerson> {
  const person = link.personId === null ? null : await store.models.people.findByPk(link.personId);
  return { name: person?.name ?? "", username: person?.username ?? "" };
}

function renderForm(
  { pages }: SetupPageParts,
  request: Request,
  response: Response,
  link: OneTimeLink,
  filled: FilledPerson,
  problems: readonly FieldProblem[],
): void {
  const reset = link.kind === "reset";
  const heading = reset ? "Choose a new password" : "Set up Jackfield";
  pages.render(response, {
    view: "setup",
    title: problems.length === 0 ? heading : `Error: ${heading}`,
    status: problems.length === 0 ? 200 : 422,
    data: {
      ...filled,
      ...problemData(problems),
      heading,
      intro: reset
        ? `for ${filled.username}. You are signed out everywhere else.`
        : `You become the first admin of ${request.get("host")}.`,
      asksWho: !reset,
      button: reset ? "Save the password" : "Create the admin",
      csrf: pages.csrfToken(request, response),
    },
  });
}

function linkEnded({ pages }: SetupPageParts, response: Response): void {
  pages.renderMessage(response, {
    status: 410,
    title: "This link does not work any more",
    text: "It was used, it is older than a day, or an admin exists already. An admin can make a new one for a forgotten password; the operator makes one on the server: people setup-link for the first admin, people reset-link for a password.",
    action: { label: "Go to sign-in", href: "/sign-in" },
  });
}
