/**
 * Provider OAuth apps: clients that the operator registered by hand at a provider which speaks OAuth but offers
 * neither metadata nor registration (GitHub, Google, Microsoft, Slack). They stand in `jackfield.yml`; a connection
 * names one with `auth: { method: oauth, app: <id> }`.
 */
import { createHash } from "node:crypto";
import type { OAuthAppFile } from "../connections/oauth-app-schema.ts";
import { scopesFor } from "../connections/oauth-app-schema.ts";
import type { ServedConnection } from "../connections/types.ts";
import { ERRORS, JackfieldError } from "../errors.ts";
import type { ClientAuthentication } from "./types.ts";

/** What is needed of a connection. */
export type AppConnection = Pick<ServedConnection, "slug" | "label" | "auth" | "access"> &
  Partial<Pick<ServedConnection, "config">>;

/** How a piece signs in, as its author wrote it down. */
export interface PieceSignIn {
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly scopes: readonly string[];
  readonly pkce: boolean;
  readonly authentication: "header" | "body";
  readonly parameters: Readonly<Record<string, string>>;
}

type CompleteApp = Omit<OAuthAppFile, "authorizationUrl" | "tokenUrl"> & { authorizationUrl: string; tokenUrl: string };

/** An app as one connection uses it: placeholders filled in, scopes chosen. */
export interface ConnectionApp {
  readonly id: string;
  readonly label: string;
  /** Who answers: `issuer` of the app, else the origin of its authorization endpoint. */
  readonly issuer: string;
  /** Whether the provider puts its name into its answers (RFC 9207). */
  readonly namesItself: boolean;
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly revocationUrl: string | undefined;
  readonly scopes: readonly string[];
  readonly pkce: boolean;
  readonly client: ClientAuthentication;
}

export interface OAuthApps {
  /** The app of a connection; undefined where it names none. @throws JackfieldError with what is wrong with it */
  of(connection: AppConnection): ConnectionApp | undefined;
  /** The client of an app. @throws JackfieldError where there is no such app, or a variable is not set */
  client(id: string): ClientAuthentication;
  /** Where the browser goes. @param verifier of PKCE (RFC 7636) */
  authorizationUrl(app: ConnectionApp, request: { state: string; redirectUri: string; verifier: string }): URL;
  /** How far the app reaches, in the operator's words; undefined where there is no such app or note. */
  reach(id: string): { note: string; link?: string } | undefined;
}

/**
 * @param apps of `jackfield.yml`, as it was read last
 * @param env where `${env:NAME}` is looked up
 * @param pieceSignIn of the piece of an id; undefined where it is not there or does not sign in so
 */
export function createOAuthApps(
  apps: () => Readonly<Record<string, OAuthAppFile>>,
  env: Readonly<Record<string, string | undefined>>,
  pieceSignIn: (id: string) => PieceSignIn | undefined = () => undefined,
): OAuthApps {
  const variable = (name: string): string => {
    const value = env[name];
    if (value === undefined || value === "") {
      throw new JackfieldError("missing_variable", { text: `Missing ${name}` });
    }
    return value;
  };

  const fileOf = (id: string): CompleteApp => {
    const found = Object.hasOwn(apps(), id) ? apps()[id] : undefined;
    if (found) return completed(id, found, pieceSignIn);
    const text = `There is no OAuth app ${id}. The operator registers one with the provider and names it under oauthApps in jackfield.yml.`;
    throw new JackfieldError("authorization_required", { text });
  };

  const client = (id: string): ClientAuthentication => {
    const app = fileOf(id);
    const clientId = variable(app.clientId);
    if (app.clientSecret === undefined) return { clientId, method: "none" };
    const method = app.authentication === "header" ? "client_secret_basic" : "client_secret_post";
    return { clientId, method, secret: variable(app.clientSecret) };
  };

  return {
    client,
    of(connection) {
      const { app: id, values = {}, scopes } = connection.auth;
      if (id === undefined) return undefined;
      const file = fileOf(id);
      const fill = (url: string) => fillPlaceholders(url, values, connection);
      const authorizationUrl = fill(file.authorizationUrl);
      return {
        id,
        label: file.label ?? id,
        issuer: file.issuer === undefined ? new URL(authorizationUrl).origin : fill(file.issuer),
        namesItself: file.issuer !== undefined,
        authorizationUrl,
        tokenUrl: fill(file.tokenUrl),
        revocationUrl: file.revocationUrl === undefined ? undefined : fill(file.revocationUrl),
        scopes: withinOffer(scopes ?? scopesFor(file.scopes, connection.access.preset), connection),
        pkce: file.pkce ?? true,
        client: client(id),
      };
    },
    authorizationUrl(app, { state, redirectUri, verifier }) {
      const { parameters, scopeParameter, scopeSeparator } = fileOf(app.id);
      // What stands in the URL already (a tenant, a fixed audience) stays; what belongs to this request wins.
      const url = new URL(app.authorizationUrl);
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      url.searchParams.set("response_type", "code");
      url.searchParams.set("client_id", app.client.clientId);
      url.searchParams.set("redirect_uri", redirectUri);
      url.searchParams.set("state", state);
      if (app.scopes.length > 0) url.searchParams.set(scopeParameter, app.scopes.join(scopeSeparator));
      if (app.pkce) {
        url.searchParams.set("code_challenge", createHash("sha256").update(verifier).digest("base64url"));
        url.searchParams.set("code_challenge_method", "S256");
      }
      return url;
    },
    reach(id) {
      const { reach } = (Object.hasOwn(apps(), id) ? apps()[id] : undefined) ?? {};
      if (!reach) return undefined;
      return reach.link === undefined ? { note: reach.note } : { note: reach.note, link: reach.link };
    },
  };
}

/** What the piece of an app adds to what the operator wrote; the operator's word counts. */
function completed(id: string, app: OAuthAppFile, pieceSignIn: (id: string) => PieceSignIn | undefined): CompleteApp {
  const { authorizationUrl, tokenUrl, piece } = app;
  const known = piece === undefined ? undefined : pieceSignIn(piece);
  const urls = { authorizationUrl: authorizationUrl ?? known?.authorizationUrl, tokenUrl: tokenUrl ?? known?.tokenUrl };
  const usable = (url: string | undefined): url is string => url !== undefined && /^https?:\/\//i.test(url);
  if (!usable(urls.authorizationUrl) || !usable(urls.tokenUrl)) {
    const text = `The OAuth app ${id} takes its endpoints from the piece ${piece}, which is not installed or has no OAuth.`;
    throw new JackfieldError("authorization_required", { text });
  }
  const scopes = Array.isArray(app.scopes) && app.scopes.length === 0 ? [...(known?.scopes ?? [])] : app.scopes;
  return {
    ...app,
    authorizationUrl: urls.authorizationUrl,
    tokenUrl: urls.tokenUrl,
    scopes,
    pkce: app.pkce ?? known?.pkce,
    authentication: app.authentication ?? known?.authentication,
    parameters: { ...known?.parameters, ...app.parameters },
  };
}

/** A collection of its own scopes asks for no others: those of its offer, or fewer. */
function withinOffer(scopes: readonly string[], { auth, config }: AppConnection): readonly string[] {
  const offered = config?.["scopes"];
  if (!Array.isArray(offered)) return scopes;
  const all = offered.filter((scope) => typeof scope === "string");
  return auth.scopes === undefined ? all : all.filter((scope) => scopes.includes(scope));
}

/** Fills `{name}` of a URL; a value is one segment of a path or one part of a host, never more. */
function fillPlaceholders(
  template: string,
  values: Readonly<Record<string, string>>,
  connection: Pick<AppConnection, "slug" | "label">,
): string {
  return template.replace(/\{([A-Za-z][A-Za-z0-9_]*)\}/g, (_whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value)) return value;
    const problem = value === undefined ? "is not set" : "may hold letters, digits, '.', '_' and '-' only";
    const text = `${connection.label} cannot be signed in to: ${name} ${problem}. It stands under auth.values of the connection ${connection.slug}.`;
    throw new JackfieldError("authorization_required", { text, detail: ERRORS.authorization_required.text });
  });
}
