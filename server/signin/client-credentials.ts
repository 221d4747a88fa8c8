/**
 * Connections that authenticate as an application (RFC 6749, 4.4): tokens are minted with a client's own credentials,
 * kept as the deployment's account of the connection, and minted again before they expire.
 *
 * The service says which authorization server the client's secret goes to. The first answer is kept with the account,
 * and another one later is refused: a stored secret is used for the token endpoint that it was first used for, until
 * somebody enters client or secret anew.
 */
import { createHmac } from "node:crypto";
import { type AdapterContext, type Refusal, UpstreamError } from "../../adapters/contract.ts";
import { credentialName } from "../connections/credentials.ts";
import type { StoredCredentials } from "../connections/stored-credentials.ts";
import type { ServedConnection } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import type { Keyring } from "../vault/keyring.ts";
import { SealError } from "../vault/seal.ts";
import type { Accounts } from "./accounts.ts";
import { isBoundTo, resourceOf, urlOf } from "./binding.ts";
import { asCredential, challengedScopes } from "./credential-for.ts";
import type { Discovered } from "./discovery.ts";
import { type FindOptions, findServer } from "./find-server.ts";
import { SignInProblem } from "./problem.ts";
import type { Renewal, RenewalWork } from "./refresh.ts";
import { requestTokens, TokenError } from "./token-request.ts";
import { type Account, type ClientAuthentication, DEPLOYMENT_KEY, type Tokens } from "./types.ts";

export interface ClientCredentialsParts {
  readonly accounts: Accounts;
  readonly renewal: Renewal;
  readonly keyring: Keyring;
  readonly credentials: Pick<StoredCredentials, "find">;
  /** Where `${env:NAME}` is looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How the connection and what it names are reached. */
  readonly reach: (connection: ServedConnection, url: URL) => Promise<FindOptions>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

interface Client extends Omit<ClientAuthentication, "method"> {
  /** Changes when somebody enters the credential anew, even with the same values. */
  readonly revision?: string;
}

interface Minted {
  readonly tokens: Tokens;
  readonly found: Discovered;
  readonly scopes: readonly string[];
}

/**
 * The getters of connections with `auth.method: client_credentials`. They reject with JackfieldError
 * `authorization_required` or `missing_variable` where there is no client, UpstreamError where none can be minted.
 */
export function createClientCredentials(
  parts: ClientCredentialsParts,
): (connection: ServedConnection) => AdapterContext["credential"] {
  const { accounts, renewal, keyring, clock } = parts;
  const first = new Map<string, Promise<Account>>();

  /** Tells one client from another, and gives nothing of it away. */
  const digestOf = ({ clientId, secret = "", privateKey = "", revision = "" }: Client): string =>
    createHmac("sha256", keyring.deriveKey("minted-with"))
      .update(JSON.stringify([clientId, secret, privateKey, revision]))
      .digest("hex");

  async function mint(
    connection: ServedConnection,
    client: Client,
    before: Account | undefined,
    extra: readonly string[],
  ): Promise<Minted> {
    const url = homeOf(connection);
    const reach = await parts.reach(connection, url);
    const found = await findServer(url.href, { ...reach, withoutBrowser: true });
    const { server, resource } = found;
    const endpoint = server.metadata.token_endpoint;
    if (before && before.tokenEndpoint !== endpoint) {
      const text = `${connection.label} names another authorization server than before (${new URL(endpoint).host}), so its client was not used there. If that is right, set the credential ${credentialName(connection)} again, or disconnect the connection first.`;
      throw new JackfieldError("authorization_required", {
        text,
        detail: `${before.tokenEndpoint} became ${endpoint}`,
      });
    }
    const scopes = [...new Set([...scopesOf(connection, found), ...extra])];
    const tokens = await requestTokens({
      endpoint,
      form: {
        grant_type: "client_credentials",
        resource,
        scope: scopes.length === 0 ? undefined : scopes.join(" "),
      },
      client: {
        ...client,
        method: methodOf(connection, client, server.metadata.token_endpoint_auth_methods_supported),
      },
      issuer: server.issuer,
      fetch: reach.named,
      clock,
    });
    // RFC 6749, 4.4.3: there should be no refresh token, and we have a better way.
    const { refreshToken: _unused, ...kept } = tokens;
    return { tokens: kept, found, scopes };
  }

  async function mintFirst(
    connection: ServedConnection,
    client: Client,
    mintedWith: string,
    before: Account | undefined,
  ): Promise<Account> {
    const { tokens, found, scopes } = await mint(connection, client, before, []);
    const { server, resource } = found;
    return accounts.save({
      organizationId: connection.organizationId,
      connectionId: connection.id,
      principal: { key: DEPLOYMENT_KEY, issuer: "", subject: "" },
      authorizationServer: server.issuer,
      tokenEndpoint: server.metadata.token_endpoint,
      ...(server.revocationEndpoint === undefined ? {} : { revocationEndpoint: server.revocationEndpoint }),
      boundResource: resourceOf(homeOf(connection)),
      ...(resource === undefined ? {} : { resource }),
      mintedWith,
      scopesAsked: scopes,
      tokens,
    });
  }

  /** The account of this very client, minted now where there is none; many who ask at once share one request. */
  async function accountOf(connection: ServedConnection, client: Client, fresh: boolean): Promise<Account> {
    const mintedWith = digestOf(client);
    const known = await (fresh ? accounts.find : accounts.recent)(connection.id, DEPLOYMENT_KEY);
    const same = known?.mintedWith === mintedWith && known.endedReason !== "disconnected" ? known : undefined;
    const asked = same?.scopesAsked.split(" ") ?? [];
    const fits = connection.auth.scopes?.every((scope) => asked.includes(scope)) ?? true;
    const url = urlOf(connection);
    if (same?.state === "connected" && fits && isBoundTo(same, url)) return same;
    const key = `${connection.id} ${mintedWith} ${url?.href}`;
    const minting = first.get(key) ?? mintFirst(connection, client, mintedWith, same);
    first.set(key, minting);
    try {
      return await minting;
    } finally {
      if (first.get(key) === minting) first.delete(key);
    }
  }

  async function again(
    connection: ServedConnection,
    client: Client,
    account: Account,
    extra: readonly string[],
    refused: boolean,
  ): Promise<Account> {
    const work: RenewalWork = {
      async request(row) {
        return (await mint(connection, client, row, extra)).tokens;
      },
      endsOn: async () => undefined,
    };
    const outcome = await renewal.renew(account, work);
    if (outcome.kind === "renewed") return outcome.account;
    if (outcome.kind === "ended") return accountOf(connection, client, true);
    const over = account.expiresAt !== null && clock() >= account.expiresAt.getTime();
    if (!refused && !over) return outcome.account;
    const { cause } = outcome.error;
    throw cause instanceof JackfieldError || cause instanceof SignInProblem ? cause : outcome.error;
  }

  async function afterRefusal(
    connection: ServedConnection,
    client: Client,
    account: Account,
    refusal: Refusal,
  ): Promise<Account> {
    const { credential, status, challenge } = refusal;
    if (credential?.kind !== "bearer" || credential.token !== tokenOf(account)) return account;
    if (status !== 403) return renewal.isFresh(account) ? account : again(connection, client, account, [], true);
    // Nobody has to be asked for further scopes, unless the operator said which ones there are.
    const wanted = challengedScopes(challenge).filter((scope) => !account.scopesAsked.split(" ").includes(scope));
    if (wanted.length === 0 || connection.auth.scopes !== undefined || renewal.isFresh(account)) return account;
    return again(connection, client, account, wanted, true);
  }

  function tokenOf(account: Account): string | undefined {
    try {
      return accounts.tokens(account)?.accessToken;
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  }

  async function currentToken(connection: ServedConnection, refusal: Refusal | undefined) {
    const client = await clientOf(parts, connection, refusal !== undefined);
    let account = await accountOf(connection, client, refusal !== undefined);
    const due = account.refreshAfter !== null && clock() >= account.refreshAfter.getTime();
    if (refusal) account = await afterRefusal(connection, client, account, refusal);
    else if (due || tokenOf(account) === undefined) account = await again(connection, client, account, [], !due);
    return { account, token: tokenOf(account) };
  }

  return (connection) => async (refusal) => {
    try {
      const { account, token } = await currentToken(connection, refusal);
      return token === undefined ? undefined : asCredential(token, account);
    } catch (error) {
      throw told(connection, error);
    }
  };
}

/** Client id and secret (or private key), from the variables that the connection names or its stored credential. */
async function clientOf(
  { env, credentials }: Pick<ClientCredentialsParts, "env" | "credentials">,
  connection: ServedConnection,
  fresh: boolean,
): Promise<Client> {
  const { clientId: written, clientIdEnv, secretEnv, privateKeyEnv, algorithm } = connection.auth;
  const variable = (name: string | undefined): string | undefined => {
    if (name === undefined) return undefined;
    const value = env[name];
    if (value === undefined || value === "") throw new JackfieldError("missing_variable", { text: `Missing ${name}` });
    return value;
  };
  const name = credentialName(connection);
  const ownSecret = variable(secretEnv);
  const ownKey = variable(privateKeyEnv);
  const isOwn = ownSecret !== undefined || ownKey !== undefined;
  const stored = isOwn ? undefined : await credentials.find(connection.organizationId, name, { fresh });
  const clientId = written ?? variable(clientIdEnv) ?? stored?.value("client_id");
  const secret = ownSecret ?? stored?.value("client_secret");
  const privateKey = ownKey ?? stored?.value("private_key");
  if (clientId === undefined || (secret ?? privateKey) === undefined) {
    const text = `${connection.label} has no client to authenticate with. An administrator sets client_id and client_secret (or private_key) of the credential ${name}.`;
    throw new JackfieldError("authorization_required", { text });
  }
  return {
    clientId,
    ...(privateKey === undefined ? {} : { privateKey }),
    ...(privateKey !== undefined || secret === undefined ? {} : { secret }),
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(stored === undefined ? {} : { revision: stored.revision }),
  };
}

function homeOf(connection: ServedConnection): URL {
  const url = urlOf(connection);
  if (url) return url;
  throw new JackfieldError("authorization_required", {
    text: `${connection.label} has no address to authenticate at.`,
  });
}

/** The operator's word, else what the service asked for just now, else what it supports (MCP, "Scope Selection"). */
function scopesOf(connection: ServedConnection, found: Discovered): readonly string[] {
  return connection.auth.scopes ?? found.challengedScopes?.split(" ") ?? found.resourceScopes ?? [];
}

/** Both places are common, and servers that announce nothing take the header (RFC 8414, 2). */
function methodOf(
  connection: ServedConnection,
  client: Client,
  offered: readonly string[] | undefined,
): ClientAuthentication["method"] {
  if (client.privateKey !== undefined) return "private_key_jwt";
  const { authentication } = connection.auth;
  if (authentication !== undefined) return authentication === "header" ? "client_secret_basic" : "client_secret_post";
  if (offered === undefined || offered.includes("client_secret_basic")) return "client_secret_basic";
  return offered.includes("client_secret_post") ? "client_secret_post" : "client_secret_basic";
}

/** What went wrong while minting, for the caller. */
function told({ label }: ServedConnection, error: unknown): unknown {
  if (error instanceof SignInProblem) {
    const code = error.code === "blocked_address" ? "blocked_address" : "upstream_unreachable";
    const detail = error.detail === undefined ? {} : { detail: error.detail };
    return new UpstreamError(code, error.message, { processed: "no", cause: error, ...detail });
  }
  if (!(error instanceof TokenError)) return error;
  const options = { processed: "no" as const, detail: error.message, cause: error };
  if (error.kind === "unavailable") {
    const text = `The authorization server of ${label} does not answer. Call again in a while.`;
    return new UpstreamError("upstream_unreachable", text, options);
  }
  const what = error.code === undefined ? "" : ` (${error.code})`;
  const text = `The authorization server of ${label} refuses this server's client${what}. An administrator must look at the credential.`;
  return new UpstreamError("authentication_required", text, options);
}
