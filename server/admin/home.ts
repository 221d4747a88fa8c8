/** `/`: who is signed in. */
import type { Request, Response } from "express";
import type { Pages } from "./pages.ts";

/** Shows the person's own page. */
export async function showHome({ pages }: { pages: Pages }, request: Request, response: Response): Promise<void> {
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  const { person, organizationIds, role } = signedIn;
  const isAdmin = organizationIds.some((id) => role(id) === "admin");
  pages.render(response, {
    view: "home",
    title: "Signed in",
    data: { name: person.name, username: person.username, role: isAdmin ? "Admin" : "Member" },
  });
}
