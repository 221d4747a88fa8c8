/** `/`: who is signed in, and where to go from here. */
import type { Request, Response } from "express";
import { FIRST_ORGANIZATION } from "../connections/files.ts";
import { may } from "../people/permissions.ts";
import type { Store } from "../store/database.ts";
import type { Pages } from "./pages.ts";

/** Shows the person's own page. */
export async function showHome(
  { pages, store }: { pages: Pages; store: Store },
  request: Request,
  response: Response,
): Promise<void> {
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return;
  const { person, organizationIds, role } = signedIn;
  const isAdmin = organizationIds.some((id) => role(id) === "admin");
  const id = organizationIds.filter((one) => may(role(one), "members:write"));
  const administers = await store.models.organizations.findAll({ where: { id }, order: [["id", "ASC"]] });
  pages.render(response, {
    view: "home",
    title: "Signed in",
    data: {
      name: person.name,
      username: person.username,
      role: isAdmin ? "Admin" : "Member",
      administers: administers.map(({ slug, name }) => ({
        name: administers.length > 1 ? name : "",
        path: slug === FIRST_ORGANIZATION ? "/members" : `/o/${slug}/members`,
      })),
    },
  });
}
