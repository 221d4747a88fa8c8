/**
 * What an account's tokens are bound to: one origin, and one URL below which they may go.
 *
 * The adapter's HTTP layer holds every request to it (`adapters/credential-scope.ts`); here a connection whose URL was
 * changed to somewhere else finds its tokens unusable.
 */
import { isWithin } from "../../adapters/credential-scope.ts";
import type { ServedConnection } from "../connections/types.ts";

/** Origin of a bound resource. @throws TypeError where it is no URL */
export function boundOriginOf(boundResource: string): string {
  return new URL(boundResource).origin;
}

/** Where the tokens of a connection may go; the URL itself and what lies below its path, without parameters. */
export function resourceOf(url: URL): string {
  return url.protocol === PIECE ? url.href : `${url.origin}${url.pathname}`;
}

/** A piece's code decides where its requests go; its tokens are bound to the piece. */
const PIECE = "piece:";

/** The URL that a connection's requests go to, or one that names its piece; undefined for types that have none. */
export function urlOf(connection: Pick<ServedConnection, "config">): URL | undefined {
  const { piece } = connection.config;
  if (typeof piece === "string") return new URL(`${PIECE}///${encodeURIComponent(piece)}`);
  for (const key of ["url", "baseUrl", "card"]) {
    const value = connection.config[key];
    if (typeof value !== "string" || !URL.canParse(value)) continue;
    return key === "card" ? homeOfCard(new URL(value)) : new URL(value);
  }
  return undefined;
}

/** An agent is where its card is: below the folder of `.well-known`, else somewhere at the card's origin. */
function homeOfCard(card: URL): URL {
  const [base, wellKnown] = card.pathname.split("/.well-known/");
  if (wellKnown !== undefined) return new URL(`${base}/`, card.origin);
  return card.pathname.endsWith("/") ? new URL(card.pathname, card.origin) : new URL("/", card.origin);
}

/** Whether the connection's URL still lies where the account's tokens may go. */
export function isBoundTo(account: { boundOrigin: string; boundResource: string }, url: URL | undefined): boolean {
  return url !== undefined && url.origin === account.boundOrigin && isWithin(url, account.boundResource);
}
