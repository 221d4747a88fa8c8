/** Which organization a page is about, and what whoever looks at it may there. */
import type { Request, Response } from "express";
import { FIRST_ORGANIZATION } from "../connections/files.ts";
import { personActor } from "../people/people.ts";
import { type Actor, may } from "../people/permissions.ts";
import type { SignedIn } from "../people/web-sessions.ts";
import type { Store } from "../store/database.ts";
import type { OrganizationRow } from "../store/models/organizations.ts";
import type { Pages } from "./pages.ts";

export interface OrganizationParts {
  readonly pages: Pages;
  readonly store: Store;
}

export interface AtOrganization {
  readonly organization: OrganizationRow;
  readonly actor: Actor;
  readonly signedIn: SignedIn;
  /** Whether they manage the organization's members, and with them everybody's tokens and clients. */
  readonly manages: boolean;
  /** Of the page. */
  readonly path: string;
}

/**
 * The organization of the address, where the person at this browser is a member; without one in the address the first
 * that they belong to. Undefined where an answer has been sent.
 * @param page last part of its path
 */
export async function organizationAt(
  { pages, store }: OrganizationParts,
  page: string,
  request: Request,
  response: Response,
): Promise<AtOrganization | undefined> {
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return undefined;
  const { organization: named } = request.params;
  const slug = typeof named === "string" ? named : undefined;
  const rows = await store.models.organizations.findAll({
    where: { id: [...signedIn.organizationIds] },
    order: [["id", "ASC"]],
  });
  const row =
    rows.find((one) => one.slug === (slug ?? FIRST_ORGANIZATION)) ?? (slug === undefined ? rows[0] : undefined);
  if (row !== undefined) {
    return {
      organization: row.get({ plain: true }),
      actor: personActor(signedIn.person, signedIn.role),
      signedIn,
      manages: may(signedIn.role(row.id), "members:write"),
      path: row.slug === FIRST_ORGANIZATION ? `/${page}` : `/o/${row.slug}/${page}`,
    };
  }
  pages.renderMessage(response, {
    status: 404,
    title: "There is nothing here for you",
    text: "You belong to no such organization.",
    action: { label: "Go to the start page", href: "/" },
  });
  return undefined;
}
