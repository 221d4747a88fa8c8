/**
 * Who we are at an authorization server: the client that the operator was given, else our client id metadata
 * document, else a dynamic registration. Kept for each issuer, because a client of one is a stranger to another.
 */
import { createHash } from "node:crypto";
import { registerClient, resolveClientMetadata } from "@modelcontextprotocol/client";
import { UniqueConstraintError } from "sequelize";
import { ulid } from "ulid";
import type { ServedConnection } from "../connections/types.ts";
import type { Store } from "../store/database.ts";
import type { OAuthRegistrationRow } from "../store/models/oauth-registrations.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, seal } from "../vault/seal.ts";
import { CALLBACK_PATH, clientMetadata } from "./client-metadata.ts";
import type { AuthorizationServer } from "./discovery.ts";
import { blockedIn, bounded, SignInProblem } from "./problem.ts";
import type { Registration, RegistrationDesk, TokenEndpointAuthMethod } from "./types.ts";

/** A way to become a client that needs no operator. */
export type Way = "cimd" | "dcr";
export const DEFAULT_ORDER: readonly Way[] = ["cimd", "dcr"];

/** The client that an operator was given by the service. */
export interface StaticClient {
  /** Name of the credential that holds it. */
  readonly reference: string;
  readonly clientId: string;
  readonly clientSecret?: string;
}

export interface RegistrationsOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  /** Origin under which browsers reach this server, without a closing slash. */
  readonly publicUrl: () => string;
  /** URL of our client id metadata document; undefined where no authorization server could fetch it. */
  readonly metadataUrl: () => string | undefined;
  /** Which way is tried first. */
  readonly order: () => readonly Way[];
  /** Opens the client that the connection's credential holds; undefined where it holds none. */
  readonly staticClient: (
    connection: Pick<ServedConnection, "organizationId" | "slug" | "credential">,
  ) => Promise<StaticClient | undefined>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export interface Registrations extends RegistrationDesk {
  /**
   * The client of a connection at this authorization server, registered now where it is not known there yet.
   * @throws SignInProblem where there is no way to become one
   */
  clientFor(connection: ServedConnection, server: AuthorizationServer, named: typeof fetch): Promise<Registration>;
  /** Redirect URIs beside the common one that our metadata document must name. */
  documentRedirects(): Promise<string[]>;
}

/** Redirect URIs that the metadata document holds at most, beside the common one. */
const MAX_REDIRECTS = 20;

/** What the secret of a registration is sealed to. */
export const registrationAad = (row: Pick<OAuthRegistrationRow, "organizationId" | "id">): string =>
  `${row.organizationId}|${row.id}|client_secret`;

export function createRegistrations(options: RegistrationsOptions): Registrations {
  const { store, keyring, publicUrl, metadataUrl, order, staticClient, clock } = options;
  const { oauthRegistrations } = store.models;

  /**
   * Where the browser comes back to. An authorization server that does not name itself in its answer gets an address
   * of its own, so that no other one can answer in its place (RFC 9700, 4.4.2).
   */
  function redirectUri(server: AuthorizationServer, own: string): string {
    const common = publicUrl() + CALLBACK_PATH;
    return server.namesItself ? common : `${common}/${own}`;
  }

  async function keep(row: OAuthRegistrationRow, known: OAuthRegistrationRow | undefined): Promise<Registration> {
    const { organizationId, issuerKey, kind, reference } = row;
    if (known) {
      await oauthRegistrations.update({ ...row, id: known.id }, { where: { id: known.id } });
      return { ...row, id: known.id };
    }
    try {
      await oauthRegistrations.create(row);
      return row;
    } catch (error) {
      if (!(error instanceof UniqueConstraintError)) throw error;
      // Another request was quicker; both know the same client now.
      const theirs = await oauthRegistrations.findOne({ where: { organizationId, issuerKey, kind, reference } });
      if (!theirs) throw error;
      return theirs.get({ plain: true });
    }
  }

  async function known(of: Pick<OAuthRegistrationRow, "organizationId" | "issuerKey" | "kind" | "reference">) {
    const { organizationId, issuerKey, kind, reference } = of;
    const row = await oauthRegistrations.findOne({ where: { organizationId, issuerKey, kind, reference } });
    return row?.get({ plain: true });
  }

  function blank(
    organizationId: string,
    server: AuthorizationServer,
    kind: OAuthRegistrationRow["kind"],
    reference: string,
  ) {
    return {
      id: ulid(),
      organizationId,
      issuer: server.issuer,
      issuerKey: createHash("sha256").update(server.issuer).digest("hex"),
      kind,
      reference,
      sealedSecret: null,
      metadata: null,
      createdAt: new Date(clock()),
    };
  }

  async function preregistered(organizationId: string, client: StaticClient, server: AuthorizationServer) {
    const row = blank(organizationId, server, "static", client.reference);
    const before = await known(row);
    return keep(
      {
        ...row,
        clientId: client.clientId,
        tokenEndpointAuthMethod: authMethod(server, client.clientSecret !== undefined, undefined),
        // Known before the first sign-in, because the operator has to name it to the service.
        redirectUri: redirectUri(server, client.reference),
      },
      before,
    );
  }

  async function metadataDocument(organizationId: string, clientId: string, server: AuthorizationServer) {
    const row = blank(organizationId, server, "cimd", "");
    const before = await known(row);
    const redirect = redirectUri(server, before?.id ?? row.id);
    return keep({ ...row, clientId, tokenEndpointAuthMethod: "none", redirectUri: redirect }, before);
  }

  async function registered(organizationId: string, server: AuthorizationServer, named: typeof fetch) {
    const row = blank(organizationId, server, "dcr", "");
    const before = await known(row);
    const redirect = redirectUri(server, before?.id ?? row.id);
    if (before && before.redirectUri === redirect && !hasExpired(before, clock())) return before;
    const answer = await registerAt(server, publicUrl(), redirect, named);
    const { client_id, client_secret, ...rest } = answer;
    const id = before?.id ?? row.id;
    return keep(
      {
        ...row,
        id,
        clientId: client_id,
        sealedSecret:
          client_secret === undefined ? null : seal(keyring, client_secret, registrationAad({ organizationId, id })),
        tokenEndpointAuthMethod: authMethod(
          server,
          client_secret !== undefined,
          typeof rest.token_endpoint_auth_method === "string" ? rest.token_endpoint_auth_method : undefined,
        ),
        redirectUri: redirect,
        metadata: { expiresAt: answer.client_secret_expires_at ?? 0 },
      },
      before,
    );
  }

  return {
    async clientFor(connection, server, named) {
      const { organizationId } = connection;
      const given = await staticClient(connection);
      if (given) return preregistered(organizationId, given, server);
      const document = metadataUrl();
      for (const way of order()) {
        if (way === "cimd" && server.takesMetadataDocuments && document !== undefined) {
          return metadataDocument(organizationId, document, server);
        }
        if (way === "dcr" && server.metadata.registration_endpoint !== undefined) {
          return registered(organizationId, server, named);
        }
      }
      throw noWay(
        connection,
        server,
        document !== undefined,
        redirectUri(server, connection.credential ?? connection.slug),
      );
    },
    async find(id) {
      const row = await oauthRegistrations.findByPk(id);
      return row?.get({ plain: true });
    },
    async secret(registration) {
      if (registration.kind === "static") {
        const row = await oauthRegistrations.findByPk(registration.id);
        if (!row) return undefined;
        const { organizationId, reference } = row;
        const client = await staticClient({ organizationId, slug: reference, credential: reference });
        return client?.clientId === registration.clientId ? client.clientSecret : undefined;
      }
      const { sealedSecret } = registration;
      return sealedSecret === null ? undefined : open(keyring, sealedSecret, registrationAad(registration));
    },
    async drop(id) {
      await oauthRegistrations.destroy({ where: { id } });
    },
    async documentRedirects() {
      const rows = await oauthRegistrations.findAll({
        where: { kind: "cimd" },
        order: [["createdAt", "DESC"]],
        limit: MAX_REDIRECTS,
      });
      return rows.map((row) => row.redirectUri);
    },
  };
}

/**
 * Registers dynamically (RFC 7591). No scope is named: some servers take a registered one for a ceiling, which ends
 * step-up.
 * @throws SignInProblem
 */
export async function registerAt(
  server: AuthorizationServer,
  publicUrl: string,
  redirect: string,
  named: typeof fetch,
) {
  const method = wantedMethod(server);
  try {
    return await registerClient(server.issuer, {
      metadata: server.metadata,
      clientMetadata: resolveClientMetadata({
        redirectUrl: redirect,
        clientMetadata: {
          ...clientMetadata(publicUrl, [redirect]),
          ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
        },
      }),
      fetchFn: named,
    });
  } catch (error) {
    const { host } = new URL(server.issuer);
    if (blockedIn(error)) {
      throw new SignInProblem(
        "blocked_address",
        `${host} wants us to register at an address that this server does not reach. Tell whoever runs the service.`,
        { cause: error },
      );
    }
    throw new SignInProblem(
      "registration_refused",
      `${host} did not register this server as a client. Ask whoever runs it for a client id (and secret), and store them as the connection's credential.`,
      { detail: bounded(String(error)), cause: error },
    );
  }
}

/** A server keeps secrets well; `none` only where nothing better is offered. Undefined: the server's own default. */
function wantedMethod(server: AuthorizationServer): TokenEndpointAuthMethod | undefined {
  const offered = server.metadata.token_endpoint_auth_methods_supported;
  return (["client_secret_basic", "client_secret_post", "none"] as const).find((method) => offered?.includes(method));
}

function authMethod(
  server: AuthorizationServer,
  hasSecret: boolean,
  registered: string | undefined,
): TokenEndpointAuthMethod {
  const offered = server.metadata.token_endpoint_auth_methods_supported;
  const methods = ["client_secret_basic", "client_secret_post", "none"] as const;
  const said = methods.find((method) => method === registered);
  if (said !== undefined && (offered === undefined || offered.includes(said))) return said;
  if (!hasSecret) return "none";
  return methods.find((method) => offered?.includes(method) && method !== "none") ?? "client_secret_basic";
}

function hasExpired(registration: Pick<OAuthRegistrationRow, "metadata">, now: number): boolean {
  const expiresAt = registration.metadata?.["expiresAt"];
  return typeof expiresAt === "number" && expiresAt > 0 && expiresAt * 1000 <= now;
}

function noWay(
  connection: ServedConnection,
  server: AuthorizationServer,
  reachable: boolean,
  callback: string,
): SignInProblem {
  const { host } = new URL(server.issuer);
  const documents =
    server.takesMetadataDocuments && !reachable
      ? " It would read our client metadata, but this server has no public https address."
      : "";
  return new SignInProblem(
    "no_registration",
    `${host} offers no way for this server to register as a client.${documents} Register one there by hand with the redirect URL ${callback}, and store its client id and secret as the credential ${connection.credential ?? connection.slug}.`,
  );
}
