/** `/sign-out`: asks, because a link or an image of another site must not sign anybody out. */
import type { Request, Response } from "express";
import type { WebSessions } from "../people/web-sessions.ts";
import type { Pages } from "./pages.ts";

export interface SignOutPageParts {
  pages: Pages;
  sessions: WebSessions;
}

/** Shows the button. */
export async function showSignOut({ pages }: SignOutPageParts, request: Request, response: Response): Promise<void> {
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  const data = { name: signedIn.person.name, csrf: pages.csrfToken(request, response) };
  pages.render(response, { view: "sign-out", title: "Sign out", data });
}

/** Ends the session of this browser; others of the person go on. */
export async function sendSignOut(
  { pages, sessions }: SignOutPageParts,
  request: Request,
  response: Response,
): Promise<void> {
  for (const cookie of await sessions.end(request)) response.append("set-cookie", cookie);
  pages.renderMessage(response, {
    status: 200,
    title: "You are signed out",
    text: "Clients that you connected keep working.",
    action: { label: "Sign in again", href: "/sign-in" },
  });
}
