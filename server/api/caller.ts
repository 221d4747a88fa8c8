/** Who calls the API: a person at a browser, or whoever holds a token. */
import type { Request } from "express";
import { JackfieldError } from "../errors.ts";
import type { AgentTokens } from "../people/agent-tokens.ts";
import type { Csrf } from "../people/csrf.ts";
import { PEOPLE_ISSUER } from "../people/people.ts";
import { may, PERMISSIONS, type Permission, type Role } from "../people/permissions.ts";
import { principalKey } from "../people/principal.ts";
import type { SignedIn, WebSessions } from "../people/web-sessions.ts";
import type { Store } from "../store/database.ts";
import type { OrganizationRow } from "../store/models/organizations.ts";

export interface ApiCaller {
  readonly via: "session" | "token";
  readonly kind: "person" | "agent";
  /** Of the session or token. */
  readonly id: string;
  readonly organizationId: string;
  readonly organizationSlug: string;
  readonly issuer: string;
  /** The person's or agent's own id. */
  readonly subject: string;
  readonly name: string;
  /** See `principalKey`: under it their accounts at connections are kept. */
  readonly key: string;
  /** The person's role; undefined for agents. */
  readonly role: Role | undefined;
  /** What the caller may: of a person what the role allows, of a token that and its own scopes both. */
  readonly permissions: ReadonlySet<Permission>;
  /** The only endpoints of a token. */
  readonly endpointIds?: readonly string[];
  /** When the browser's person proved who they are. */
  readonly authenticatedAt?: Date;
  /** What the browser sends in `CSRF_HEADER`. */
  readonly csrfToken?: string;
}

export interface CallerParts {
  readonly store: Store;
  readonly sessions: WebSessions;
  readonly csrf: Csrf;
  readonly tokens: AgentTokens;
}

/** Header that carries the session's token against forms of other sites; `GET /api/me` tells it. */
export const CSRF_HEADER = "x-csrf-token";

const BEARER = /^Bearer +([^\s]+) *$/i;

/**
 * Finds out who calls. A token wins over a cookie: who sends one means it.
 * @param organization slug of the organization that is meant, where a person may belong to several
 * Throws `sign_in_required`, `token_invalid`, `csrf_refused`, `not_found` (an organization that is not the caller's)
 * and `invalid_input` where it must be named.
 */
export async function identify(
  parts: CallerParts,
  request: Request,
  organization: string | undefined,
): Promise<ApiCaller> {
  const { authorization } = request.headers;
  if (authorization !== undefined) return callerOfToken(parts, authorization, request.ip, organization);
  const signedIn = await parts.sessions.personOf(request);
  if (signedIn === undefined) throw new JackfieldError("sign_in_required");
  // Reading changes nothing, and no other site can read the answer; even so it has no business here.
  const safe = request.method === "GET" || request.method === "HEAD";
  const ours = safe ? parts.csrf.comesFromUs(request) : parts.csrf.accepts(request, request.get(CSRF_HEADER));
  if (!ours) throw new JackfieldError("csrf_refused");
  const { token } = parts.csrf.tokenFor(request);
  return { ...callerOfSession(await organizationOf(parts.store, signedIn, organization), signedIn), csrfToken: token };
}

async function callerOfToken(
  { store, tokens }: CallerParts,
  authorization: string,
  ip: string | undefined,
  organization: string | undefined,
): Promise<ApiCaller> {
  const token = BEARER.exec(authorization)?.[1] ?? "";
  const holder = await tokens.identify(token, ip === undefined ? {} : { ip });
  if (holder === undefined) throw new JackfieldError("token_invalid");
  const { principal, permissions, role } = holder;
  const row = await store.models.organizations.findByPk(principal.organizationId);
  if (row === null || (organization !== undefined && organization !== row.slug)) throw new JackfieldError("not_found");
  const { organizationId, issuer, subject, name, key, endpointIds, tokenId } = principal;
  // A person's own token reaches what is the person's own.
  const kind = issuer === PEOPLE_ISSUER ? "person" : "agent";
  return {
    ...{ via: "token", kind, id: tokenId, organizationId, organizationSlug: row.slug },
    ...{ issuer, subject, name, key, role, permissions, endpointIds },
  };
}

function callerOfSession({ id, slug }: Pick<OrganizationRow, "id" | "slug">, signedIn: SignedIn): ApiCaller {
  const { person, session } = signedIn;
  const role = signedIn.role(id);
  return {
    via: "session",
    kind: "person",
    id: session.id,
    organizationId: id,
    organizationSlug: slug,
    issuer: PEOPLE_ISSUER,
    subject: person.id,
    name: person.name,
    key: principalKey(PEOPLE_ISSUER, person.id),
    role,
    permissions: new Set(PERMISSIONS.filter((permission) => may(role, permission))),
    authenticatedAt: session.authenticatedAt,
  };
}

async function organizationOf(
  store: Store,
  { organizationIds }: SignedIn,
  slug: string | undefined,
): Promise<OrganizationRow> {
  const rows = await store.models.organizations.findAll({
    where: { id: [...organizationIds] },
    order: [["id", "ASC"]],
  });
  const [first, ...others] = slug === undefined ? rows : rows.filter((row) => row.slug === slug);
  if (first === undefined) throw new JackfieldError("not_found", { text: "You belong to no such organization." });
  if (others.length === 0) return first;
  const slugs = rows.map((row) => row.slug).join(", ");
  const problems = [{ field: "query.organization", message: `you belong to several; name one of ${slugs}` }];
  throw new JackfieldError("invalid_input", { text: `organization must be one of ${slugs}`, data: { problems } });
}
