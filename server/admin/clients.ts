/** `/clients` and `/o/<organization>/clients`: connected clients; one's own, and to admins everybody's. */
import type { Request, Response } from "express";
import { JackfieldError } from "../errors.ts";
import type { ConnectedClients } from "../oauth/connected-clients.ts";
import { setPageHeaders } from "./headers.ts";
import { moment } from "./moment.ts";
import { type AtOrganization, type OrganizationParts, organizationAt } from "./organization.ts";
import { fieldOf } from "./pages.ts";

export interface ClientsPageParts extends OrganizationParts {
  readonly connectedClients: ConnectedClients;
}

/** Shows the list. */
export async function showClients(parts: ClientsPageParts, request: Request, response: Response): Promise<void> {
  const at = await organizationAt(parts, "clients", request, response);
  if (at === undefined) return;
  const { actor, organization, manages } = at;
  const clients = await parts.connectedClients.list(actor, organization.id);
  parts.pages.render(response, {
    view: "clients",
    title: "Connected clients",
    wide: true,
    data: {
      manages,
      path: at.path,
      csrf: parts.pages.csrfToken(request, response),
      clients: clients.map(({ id, name, host, redirectUri, person, endpoint, scopes, lastUsedAt, createdAt }) => ({
        ...{ id, redirectUri, endpoint, person: person.username },
        name: name === "" ? "A client without a name" : name,
        vouched: host === undefined ? "Registered itself" : `Identified by ${host}`,
        scopes: scopes.join(" "),
        since: moment(createdAt),
        lastUsed: moment(lastUsedAt),
      })),
    },
  });
}

/** Disconnects one, and comes back. */
export async function revokeClient(parts: ClientsPageParts, request: Request, response: Response): Promise<void> {
  const at: AtOrganization | undefined = await organizationAt(parts, "clients", request, response);
  if (at === undefined) return;
  try {
    await parts.connectedClients.revoke(at.actor, at.organization.id, fieldOf(request.body, "client"));
  } catch (error) {
    // Sent twice, or ended meanwhile: it is not there, which is what was wanted.
    if (!(error instanceof JackfieldError) || error.code !== "not_found") throw error;
  }
  setPageHeaders(response, "own");
  response.redirect(303, at.path);
}
