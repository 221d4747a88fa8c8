/** `/sign-in`: username and password. */
import type { Request, Response } from "express";
import type { Providers } from "../people/providers/providers.ts";
import type { SignIn } from "../people/sign-in.ts";
import type { WebSessions } from "../people/web-sessions.ts";
import { setPageHeaders } from "./headers.ts";
import { fieldOf, type Pages } from "./pages.ts";
import { ownPath } from "./return-to.ts";

export interface SignInPageParts {
  pages: Pages;
  signIn: SignIn;
  providers: Providers;
  sessions: WebSessions;
  /** Whether anybody could sign in: before the first setup nobody can. */
  anybody(): Promise<boolean>;
}

/** Shows the form, or goes on where the browser is signed in already. */
export async function showSignIn(parts: SignInPageParts, request: Request, response: Response): Promise<void> {
  const returnTo = ownPath(request.query["returnTo"]);
  // Some things need a sign-in of the last minutes.
  if (request.query["again"] === undefined && (await parts.pages.personOf(request)) !== undefined)
    return goTo(response, returnTo);
  await renderForm(parts, request, response, { returnTo });
}

/** Checks the form. The same words whatever was wrong, so that nobody learns who has an account. */
export async function sendSignIn(parts: SignInPageParts, request: Request, response: Response): Promise<void> {
  const returnTo = ownPath(fieldOf(request.body, "returnTo"));
  const username = fieldOf(request.body, "username");
  const answer = await parts.signIn.check(username, fieldOf(request.body, "password"), request.ip);
  if (answer.kind === "in") {
    const cookies = await parts.sessions.start(request, answer.person.id, { means: "password" });
    for (const cookie of cookies) response.append("set-cookie", cookie);
    return goTo(response, returnTo);
  }
  if (answer.kind === "limited") {
    response.set("retry-after", String(Math.ceil(answer.retryAfterMs / 1000)));
    const minutes = Math.ceil(answer.retryAfterMs / 60_000);
    const wait = minutes === 1 ? "a minute" : `${minutes} minutes`;
    const problem = `Too many attempts from this network. Wait ${wait}, then try again.`;
    return renderForm(parts, request, response, { returnTo, username, problem, status: 429 });
  }
  const problem = "Username or password is wrong.";
  await renderForm(parts, request, response, { returnTo, username, problem, status: 422 });
}

async function renderForm(
  { pages, anybody, providers }: SignInPageParts,
  request: Request,
  response: Response,
  { status = 200, ...shown }: { returnTo: string; username?: string; problem?: string; status?: number },
): Promise<void> {
  const csrf = pages.csrfToken(request, response);
  pages.render(response, {
    view: "sign-in",
    title: shown.problem === undefined ? "Sign in" : "Error: Sign in",
    status,
    // After it a connection's sign-in may go on at another site.
    forms: "away",
    data: {
      username: "",
      problem: undefined,
      ...shown,
      csrf,
      anybody: await anybody(),
      providers: providers.list().map(({ file, label }) => ({ id: file.id, label })),
    },
  });
}

function goTo(response: Response, path: string): void {
  setPageHeaders(response, "away");
  response.redirect(303, path);
}
