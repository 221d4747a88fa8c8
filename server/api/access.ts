/** The one place that says who may call a route. */
import { JackfieldError } from "../errors.ts";
import type { ApiCaller } from "./caller.ts";
import type { ApiRoute } from "./route.ts";

/** Milliseconds for which a sign-in counts as recent. */
export const RECENT_MS = 15 * 60_000;

/**
 * Throws `permission_missing` where the caller may not, `recent_sign_in_required` where they might after signing in
 * again.
 * @param now milliseconds since the epoch
 */
export function checkAccess(
  { permission, session, recent }: Pick<ApiRoute, "permission" | "session" | "recent">,
  caller: ApiCaller,
  now: number,
): void {
  if (session === true && caller.via !== "session") {
    throw new JackfieldError("permission_missing", { text: "Only a person at a browser may do this, no token." });
  }
  if (permission === "person") {
    if (caller.kind !== "person") {
      throw new JackfieldError("permission_missing", { text: "This is for people; agents have nothing of the kind." });
    }
  } else if (permission !== "member" && !caller.permissions.has(permission)) {
    throw new JackfieldError("permission_missing", { text: `This needs the permission ${permission}.` });
  }
  if (recent !== true || caller.via !== "session") return;
  if (now - (caller.authenticatedAt?.getTime() ?? 0) > RECENT_MS) throw new JackfieldError("recent_sign_in_required");
}
