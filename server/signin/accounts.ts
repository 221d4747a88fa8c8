/**
 * The accounts: the tokens that a principal holds at a connection, sealed.
 *
 * A row is found by connection and principal, never by URL or token. Its `version` rises with every change of the
 * tokens; whoever changes them does so on condition of the version it read, so that two who refresh at once cannot
 * both write (RFC 9700, 4.14.2: a rotated refresh token works once).
 */
import type { Transaction } from "sequelize";
import { ulid } from "ulid";
import type { JsonObject } from "../../adapters/contract.ts";
import { type Bus, TOPICS } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, seal } from "../vault/seal.ts";
import { createAccountCache } from "./account-cache.ts";
import { boundOriginOf } from "./binding.ts";
import type { Account, NewAccount, SignInReason, Tokens } from "./types.ts";

/** What one sign-in may ask for again when the service goes on wanting the same scopes. */
const MAX_STEP_UPS = 2;

/** What is sealed in an account. */
export interface KeptTokens {
  accessToken: string;
  refreshToken?: string;
  data?: JsonObject;
}

export interface Accounts {
  /** Read from the database. */
  find(connectionId: string, principalKey: string): Promise<Account | undefined>;
  /** The same from memory where it is known; a change elsewhere is seen within a second. */
  recent(connectionId: string, principalKey: string): Promise<Account | undefined>;
  /** Keeps the tokens of a finished sign-in. Signing in again keeps the account's id. */
  save(account: NewAccount, transaction?: Transaction): Promise<Account>;
  /** Opens the tokens; undefined where there are none. Throws `SealError`. */
  tokens(account: Account): KeptTokens | undefined;
  /** Says that a refresh begins. False where somebody else's mark, or another version, is in the row. */
  mark(account: Account): Promise<boolean>;
  /** Takes the mark away again: nothing came of it. */
  unmark(account: Account): Promise<void>;
  /** Writes refreshed tokens over the version they came from. False where that is not there any more. */
  rotate(account: Account, tokens: Tokens): Promise<boolean>;
  /** Deletes the tokens of this version; the account needs a sign-in. False where it changed meanwhile. */
  end(account: Account, reason: SignInReason): Promise<boolean>;
  /** Notes scopes that the service wants beyond those it got. False where asking again has helped nothing so far. */
  want(account: Account, scopes: readonly string[]): Promise<boolean>;
  /** Deletes the account. */
  remove(connectionId: string, principalKey: string): Promise<void>;
  /** Whether the principal is signed in, as far as we know; answered from memory where known. */
  connected(connectionId: string, principalKey: string): Promise<boolean>;
  /** The account that was connected last, whoever's: for what is asked for nobody in particular. */
  any(connectionId: string): Promise<Account | undefined>;
  /** Every account of a connection. */
  list(connectionId: string): Promise<Account[]>;
  close(): void;
}

export interface AccountsOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly bus: Bus;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** What the tokens of an account are sealed to. */
export function accountAad({ organizationId, id }: { organizationId: string; id: string }): string {
  return `${organizationId}|${id}|tokens`;
}

/**
 * From when on a call refreshes first, in milliseconds since the epoch: at 80 % of the token's life, or a minute
 * before its end where that comes first, but never in the first half of a short life.
 */
export function refreshTime(now: number, lifeSeconds: number): number {
  const share = Math.min(lifeSeconds * 0.8, Math.max(lifeSeconds - 60, lifeSeconds / 2));
  return now + share * 1000;
}

export function createAccounts(options: AccountsOptions): Accounts {
  const { store, keyring, bus, clock } = options;
  const table = store.models.accounts;
  const cache = createAccountCache(clock);
  const unsubscribe = bus.subscribe(TOPICS.accounts, ({ connectionId, principalKey }) => {
    const named = typeof connectionId === "string" && typeof principalKey === "string";
    cache.drop(named ? cacheKey(connectionId, principalKey) : undefined);
  });

  const changed = async ({ connectionId, principalKey }: Pick<Account, "connectionId" | "principalKey">) => {
    cache.drop(cacheKey(connectionId, principalKey));
    await bus.publish(TOPICS.accounts, { connectionId, principalKey });
  };

  const sealed = (account: { organizationId: string; id: string }, tokens: Tokens): string => {
    const { accessToken, refreshToken, data } = tokens;
    const kept: KeptTokens = {
      accessToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      ...(data === undefined ? {} : { data }),
    };
    const text = JSON.stringify(kept);
    return seal(keyring, text, accountAad(account));
  };

  const opened = (account: Account): KeptTokens | undefined =>
    account.sealedTokens === null ? undefined : JSON.parse(open(keyring, account.sealedTokens, accountAad(account)));

  const times = (tokens: Tokens) => {
    if (tokens.expiresIn === undefined) return { expiresAt: null, refreshAfter: null };
    const now = clock();
    return {
      expiresAt: new Date(now + tokens.expiresIn * 1000),
      refreshAfter: new Date(refreshTime(now, tokens.expiresIn)),
    };
  };

  /** Changes the row on condition of the version it was read with. */
  const replace = async (account: Account, values: Partial<Account>): Promise<boolean> => {
    const { id, version } = account;
    const all = { ...values, version: version + 1, refreshingSince: null, updatedAt: new Date(clock()) };
    // In a transaction, which is tried again while the database is busy: what is written here cannot be had again.
    const [rows] = await store.transaction((transaction) => table.update(all, { where: { id, version }, transaction }));
    if (rows === 1) await changed(account);
    return rows === 1;
  };

  const find = async (connectionId: string, principalKey: string): Promise<Account | undefined> => {
    const row = await table.findOne({ where: { connectionId, principalKey } });
    return row?.get({ plain: true });
  };

  const recent = (connectionId: string, principalKey: string) =>
    cache.get(cacheKey(connectionId, principalKey), () => find(connectionId, principalKey));

  async function write(account: NewAccount, transaction: Transaction): Promise<Account> {
    const { principal, tokens, scopesAsked } = account;
    const where = { connectionId: account.connectionId, principalKey: principal.key };
    const row = await table.findOne({ where, transaction, lock: true });
    const now = new Date(clock());
    const id = row?.id ?? ulid();
    const values = {
      ...where,
      id,
      organizationId: account.organizationId,
      principalIssuer: principal.issuer,
      principalSubject: principal.subject,
      authorizationServer: account.authorizationServer,
      registrationId: account.registrationId ?? null,
      oauthApp: account.oauthApp ?? null,
      tokenEndpoint: account.tokenEndpoint ?? null,
      revocationEndpoint: account.revocationEndpoint ?? null,
      boundOrigin: boundOriginOf(account.boundResource),
      boundResource: account.boundResource,
      resource: account.resource ?? null,
      mintedWith: account.mintedWith ?? null,
      scopesAsked: scopesAsked.join(" "),
      scopesGranted: tokens.scope ?? scopesAsked.join(" "),
      scopesWanted: null,
      stepUps: row?.scopesWanted == null ? (row?.stepUps ?? 0) : row.stepUps + 1,
      sealedTokens: sealed({ organizationId: account.organizationId, id }, tokens),
      ...times(tokens),
      version: (row?.version ?? 0) + 1,
      refreshingSince: null,
      state: "connected" as const,
      endedReason: null,
      connectedBy: account.connectedBy ?? null,
      createdAt: row?.createdAt ?? now,
      updatedAt: now,
    };
    const written = row ? await row.update(values, { transaction }) : await table.create(values, { transaction });
    return written.get({ plain: true });
  }

  return {
    find,
    recent,
    async save(account, transaction) {
      const saved = transaction
        ? await write(account, transaction)
        : await store.transaction((inner) => write(account, inner));
      if (transaction) transaction.afterCommit(() => changed(saved));
      else await changed(saved);
      return saved;
    },
    tokens: opened,
    async mark(account) {
      const { id, version, refreshingSince } = account;
      const values = { refreshingSince: new Date(clock()) };
      const [rows] = await store.transaction((transaction) =>
        table.update(values, { where: { id, version, refreshingSince }, transaction }),
      );
      return rows === 1;
    },
    async unmark({ id, version }) {
      await table.update({ refreshingSince: null }, { where: { id, version } });
    },
    rotate(account, tokens) {
      // RFC 6749, 6: an answer without a refresh token leaves the old one in force (Google's always are).
      const before = opened(account);
      const refreshToken = tokens.refreshToken ?? before?.refreshToken;
      // What only the first answer said (whose account, which region) holds on.
      const data = before?.data === undefined ? tokens.data : { ...before.data, ...tokens.data };
      return replace(account, {
        sealedTokens: sealed(account, {
          ...tokens,
          ...(refreshToken === undefined ? {} : { refreshToken }),
          ...(data === undefined ? {} : { data }),
        }),
        ...(tokens.scope === undefined ? {} : { scopesGranted: tokens.scope }),
        ...times(tokens),
      });
    },
    end(account, reason) {
      return replace(account, {
        state: "needs_sign_in",
        endedReason: reason,
        sealedTokens: null,
        expiresAt: null,
        refreshAfter: null,
      });
    },
    async want(account, scopes) {
      const asked = new Set(account.scopesAsked.split(" "));
      const isNew = scopes.some((scope) => !asked.has(scope));
      if (!isNew && account.stepUps >= MAX_STEP_UPS) return false;
      const values = { scopesWanted: scopes.join(" "), stepUps: isNew ? 0 : account.stepUps };
      await table.update(values, { where: { id: account.id } });
      await changed(account);
      return true;
    },
    async remove(connectionId, principalKey) {
      await table.destroy({ where: { connectionId, principalKey } });
      await changed({ connectionId, principalKey });
    },
    async connected(connectionId, principalKey) {
      return (await recent(connectionId, principalKey))?.state === "connected";
    },
    async any(connectionId) {
      const row = await table.findOne({ where: { connectionId, state: "connected" }, order: [["updatedAt", "DESC"]] });
      return row?.get({ plain: true });
    },
    async list(connectionId) {
      const rows = await table.findAll({ where: { connectionId }, order: [["createdAt", "ASC"]] });
      return rows.map((row) => row.get({ plain: true }));
    },
    close: unsubscribe,
  };
}

function cacheKey(connectionId: string, principalKey: string): string {
  return `${connectionId}|${principalKey}`;
}
