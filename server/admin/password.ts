/** `/account/password`: changes the password, or sets the first one. */
import type { Request, Response } from "express";
import { changePassword, hasPassword, type PasswordChangeParts } from "../people/password-change.ts";
import { fieldOf, type Pages } from "./pages.ts";
import { type FieldProblem, personProblems, problemData } from "./person-form.ts";
import { askAgain, isRecent } from "./recent.ts";

export interface PasswordPageParts extends PasswordChangeParts {
  readonly pages: Pages;
  readonly clock: () => number;
}

/** Shows the form. */
export async function showPassword(parts: PasswordPageParts, request: Request, response: Response): Promise<void> {
  await render(parts, request, response, []);
}

/** Checks it and sets the password; every other browser of the person is signed out. */
export async function sendPassword(parts: PasswordPageParts, request: Request, response: Response): Promise<void> {
  const signedIn = await parts.pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  const known = await hasPassword(parts.store, signedIn.person.id);
  // Without a password to ask for, having just signed in has to do.
  if (!known && !isRecent(signedIn, parts.clock())) return askAgain(response, "/account/password");
  const next = fieldOf(request.body, "password");
  const problems = personProblems(signedIn.person, next, false);
  if (problems.length > 0) return render(parts, request, response, problems);
  const current = known ? fieldOf(request.body, "current") : undefined;
  const outcome = await changePassword(parts, signedIn, { current, next, address: request.ip });
  if (outcome === "changed") {
    return parts.pages.renderMessage(response, {
      status: 200,
      title: known ? "The password is changed" : "The password is set",
      text: "Your other browsers are signed out.",
      action: { label: "Go to your account", href: "/account" },
    });
  }
  const text = outcome === "limited" ? "Too many attempts. Wait a quarter of an hour." : "This is not your password.";
  await render(parts, request, response, [{ field: "current", text }]);
}

async function render(
  { pages, store }: PasswordPageParts,
  request: Request,
  response: Response,
  problems: readonly FieldProblem[],
): Promise<void> {
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  const known = await hasPassword(store, signedIn.person.id);
  const heading = known ? "Change your password" : "Set a password";
  pages.render(response, {
    view: "password",
    title: problems.length === 0 ? heading : `Error: ${heading}`,
    status: problems.length === 0 ? 200 : 422,
    data: {
      ...problemData(problems),
      heading,
      asksCurrent: known,
      asksWho: false,
      username: signedIn.person.username,
      csrf: pages.csrfToken(request, response),
    },
  });
}
