/** `/tokens` and `/o/<organization>/tokens`: one's own tokens, and to admins all; made, rotated and revoked. */
import type { Request, Response } from "express";
import { z } from "zod";
import { JackfieldError } from "../errors.ts";
import { PERMISSIONS } from "../people/permissions.ts";
import { SCOPES } from "../people/principal.ts";
import { type MadeToken, OVERLAP_MS, type TokenActor, type TokenDesk } from "../people/token-desk.ts";
import { setPageHeaders } from "./headers.ts";
import { moment } from "./moment.ts";
import { type AtOrganization, type OrganizationParts, organizationAt } from "./organization.ts";
import { fieldOf } from "./pages.ts";
import { askAgain, isRecent } from "./recent.ts";

export interface TokensPageParts extends OrganizationParts {
  readonly tokenDesk: TokenDesk;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

const DAY = 86_400_000;
const words = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [value].flat())
  .catch([]);
const ticked = z
  .object({ endpoint: words, scope: words, permission: words })
  .catch({ endpoint: [], scope: [], permission: [] });

/** Shows the list and the form. */
export async function showTokens(parts: TokensPageParts, request: Request, response: Response): Promise<void> {
  const at = await organizationAt(parts, "tokens", request, response);
  if (at !== undefined) await render(parts, at, request, response, {});
}

/** Makes a token; it is shown on the page that comes back and never again. */
export async function makeToken(parts: TokensPageParts, request: Request, response: Response): Promise<void> {
  const at = await organizationAt(parts, "tokens", request, response);
  if (at === undefined) return;
  if (!isRecent(at.signedIn, parts.clock())) return askAgain(response, at.path);
  const { endpoint, scope, permission } = ticked.parse(request.body);
  const days = Number(fieldOf(request.body, "days"));
  const networks = fieldOf(request.body, "networks")
    .split(/[\s,]+/)
    .filter((one) => one !== "");
  const wish = {
    name: fieldOf(request.body, "name").trim(),
    endpoints: endpoint,
    scopes: SCOPES.filter((one) => scope.includes(one)),
    permissions: PERMISSIONS.filter((one) => permission.includes(one)),
    variables: {},
    ...(networks.length === 0 ? {} : { allowedNetworks: networks }),
    expiresAt: new Date(parts.clock() + (days > 0 && days <= 3_650 ? days : 90) * DAY),
  };
  const create = fieldOf(request.body, "kind") === "agent" ? parts.tokenDesk.createForAgent : parts.tokenDesk.createOwn;
  await attempt(parts, at, request, response, () => create(byOf(at), wish));
}

/** Rotates or revokes one. */
export async function changeToken(parts: TokensPageParts, request: Request, response: Response): Promise<void> {
  const at = await organizationAt(parts, "tokens", request, response);
  if (at === undefined) return;
  const id = fieldOf(request.body, "token");
  if (fieldOf(request.body, "change") === "rotate") {
    if (!isRecent(at.signedIn, parts.clock())) return askAgain(response, at.path);
    return attempt(parts, at, request, response, () => parts.tokenDesk.rotate(byOf(at), id, OVERLAP_MS));
  }
  await attempt(parts, at, request, response, async () => {
    await parts.tokenDesk.revoke(byOf(at), id);
    return undefined;
  });
}

/** Does it; where it made a secret, or was wrong, the page says so, else the browser goes back to the list. */
async function attempt(
  parts: TokensPageParts,
  at: AtOrganization,
  request: Request,
  response: Response,
  work: () => Promise<MadeToken | undefined>,
): Promise<void> {
  try {
    const made = await work();
    if (made) return await render(parts, at, request, response, { secret: made.secret });
  } catch (error) {
    if (!(error instanceof JackfieldError) || (error.status >= 500 && error.code !== "config_invalid")) throw error;
    return render(parts, at, request, response, { problem: error.message });
  }
  setPageHeaders(response, "own");
  response.redirect(303, at.path);
}

function byOf({ actor, organization }: AtOrganization): TokenActor {
  return { actor, organizationId: organization.id };
}

async function render(
  { pages, tokenDesk, store, clock }: TokensPageParts,
  at: AtOrganization,
  request: Request,
  response: Response,
  { secret, problem }: { secret?: string; problem?: string },
): Promise<void> {
  const by = byOf(at);
  const all = await tokenDesk.list(by);
  const now = clock();
  const live = all.filter(({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt?.getTime() ?? now + 1) > now);
  const people = await store.models.people.findAll({ where: { id: live.flatMap(({ personId }) => personId ?? []) } });
  const endpoints = await tokenDesk.endpointsFor(by, at.manages ? "agent" : "own");
  pages.render(response, {
    view: "tokens",
    title: `${problem === undefined ? "" : "Error: "}Tokens`,
    status: problem === undefined ? 200 : 422,
    wide: true,
    data: {
      ...{ secret, problem, manages: at.manages, path: at.path, csrf: pages.csrfToken(request, response) },
      endpoints: endpoints.map(({ slug, label }) => ({ slug, label })),
      scopes: SCOPES,
      permissions: PERMISSIONS.filter((permission) => at.actor.may(at.organization.id, permission)),
      tokens: live.reverse().map((token) => ({
        ...{ id: token.id, name: token.name, last4: token.last4, rotated: token.rotatedAt !== null },
        whose: people.find(({ id }) => id === token.personId)?.username ?? "an agent",
        may: [...token.scopes, ...token.permissions, ...(token.testing ? ["drafts"] : [])].join(" "),
        networks: token.allowedNetworks?.join(", ") ?? "anywhere",
        lastUsed: `${moment(token.lastUsedAt)}${token.lastUsedIp === null ? "" : ` from ${token.lastUsedIp}`}`,
        expires: moment(token.expiresAt),
      })),
    },
  });
}
