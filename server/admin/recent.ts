/** What needs somebody to have proved only just now who they are. */
import type { Response } from "express";
import type { SignedIn } from "../people/web-sessions.ts";
import { setPageHeaders } from "./headers.ts";

/** Milliseconds after a sign-in for which it is enough. */
const RECENT_MS = 15 * 60_000;

/** @param now milliseconds since the epoch */
export function isRecent({ session }: SignedIn, now: number): boolean {
  return now - session.authenticatedAt.getTime() < RECENT_MS;
}

/** Sends the browser to the sign-in page although somebody is signed in, and back to a path of ours. */
export function askAgain(response: Response, returnTo: string): undefined {
  setPageHeaders(response, "own");
  response.redirect(303, `/sign-in?again=1&returnTo=${encodeURIComponent(returnTo)}`);
  return undefined;
}
