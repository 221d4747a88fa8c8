/**
 * The attempts to sign in: one row each, bound to the browser and the person that started it, good for ten minutes
 * and for one answer. Claiming is a conditional UPDATE, so that of any number of answers one is redeemed.
 */
import { createHash, randomBytes } from "node:crypto";
import { Op } from "sequelize";
import { ulid } from "ulid";
import type { Store } from "../store/database.ts";
import type { SignInAttemptRow } from "../store/models/sign-in-attempts.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, seal } from "../vault/seal.ts";
import type { AccountPrincipal } from "./ticket.ts";

/** Milliseconds between the start of an attempt and the last moment its answer is taken. */
export const ATTEMPT_MS = 10 * 60_000;
/** Ended attempts are kept for a day, to show how they ended. */
const KEPT_MS = 24 * 60 * 60_000;

export type Attempt = Readonly<SignInAttemptRow>;

/** Everything that redeeming an answer takes. Sealed in the row. */
export interface Flow {
  readonly principal: AccountPrincipal;
  /** PKCE (RFC 7636). */
  readonly verifier: string;
  /** Where the browser was sent. */
  readonly authorizationUrl: string;
  readonly issuer: string;
  /** Whether it promised `iss` in its answer. */
  readonly namesItself: boolean;
  readonly tokenEndpoint: string;
  readonly tokenAuthMethods?: readonly string[];
  readonly revocationEndpoint?: string;
  readonly registrationId?: string;
  /** Name of the provider OAuth app, where it is one. */
  readonly oauthApp?: string;
  /** Absent: none is sent. */
  readonly resource?: string;
  /** Where the tokens may be sent. */
  readonly boundResource: string;
  readonly scopes: readonly string[];
}

export interface NewAttempt {
  readonly id: string;
  readonly organizationId: string;
  readonly connectionId: string;
  readonly principalKey: string;
  readonly personId: string;
  /** The value of the browser's cookie. */
  readonly browser: string;
  readonly state: string;
  readonly redirectUri: string;
  readonly flow: Flow;
}

export interface Outcome {
  readonly state: "connected" | "failed";
  readonly code: string;
  /** For the page. */
  readonly text: string;
}

export interface Attempts {
  /** The link that is offered for this account and still works, or one that is made now. */
  offer(
    of: Pick<Attempt, "organizationId" | "connectionId" | "principalKey">,
    ticket: (attemptId: string) => string,
  ): Promise<string>;
  /** Starts one, in place of the offered one where it came from there. */
  start(attempt: NewAttempt): Promise<void>;
  /** The attempt that a `state` belongs to. */
  ofState(state: string): Promise<Attempt | undefined>;
  /** Whether a cookie's value is that of the browser that started it. */
  isOfBrowser(attempt: Attempt, browser: string | undefined): boolean;
  isOver(attempt: Attempt): boolean;
  /** Takes the right to redeem. False where somebody has it already. */
  claim(attempt: Attempt): Promise<boolean>;
  /** Writes how it ended and forgets everything secret. */
  finish(attempt: Attempt, outcome: Outcome): Promise<void>;
  flow(attempt: Attempt): Flow;
  find(id: string): Promise<Attempt | undefined>;
}

/** What the flow of an attempt is sealed to. */
export const attemptAad = (row: Pick<SignInAttemptRow, "organizationId" | "id">): string =>
  `${row.organizationId}|${row.id}|flow`;

/** 256 random bits in base64url. */
export function randomValue(): string {
  return randomBytes(32).toString("base64url");
}

export interface AttemptsOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export function createAttempts({ store, keyring, clock }: AttemptsOptions): Attempts {
  const table = store.models.signInAttempts;
  const plain = (row: { get(options: { plain: true }): SignInAttemptRow } | null) => row?.get({ plain: true });
  const now = () => new Date(clock());
  const live = () => ({ expiresAt: { [Op.gt]: now() } });

  async function prune(): Promise<void> {
    const ended = new Date(clock() - KEPT_MS);
    await table.destroy({
      where: {
        [Op.or]: [{ state: "offered", expiresAt: { [Op.lte]: now() } }, { expiresAt: { [Op.lte]: ended } }],
      },
    });
  }

  return {
    async offer({ organizationId, connectionId, principalKey }, ticket) {
      const mine = { connectionId, principalKey };
      const waiting = { ...mine, state: "offered" as const, ...live(), sealedTicket: { [Op.ne]: null } };
      const offered = await table.findOne({ where: waiting, order: [["id", "ASC"]] });
      if (offered?.sealedTicket) return offered.sealedTicket;
      await prune();
      const id = ulid();
      const sealedTicket = ticket(id);
      await table.create({
        id,
        organizationId,
        ...mine,
        state: "offered",
        sealedTicket,
        createdAt: now(),
        expiresAt: new Date(clock() + ATTEMPT_MS),
      });
      return sealedTicket;
    },
    async start({ browser, state, flow, ...attempt }) {
      await prune();
      await table.create({
        ...attempt,
        state: "pending",
        stateHash: hashOf(state),
        browserHash: hashOf(browser),
        sealedFlow: seal(keyring, JSON.stringify(flow), attemptAad(attempt)),
        createdAt: now(),
        expiresAt: new Date(clock() + ATTEMPT_MS),
      });
    },
    ofState: async (state) => plain(await table.findOne({ where: { stateHash: hashOf(state) } })),
    // Both are digests of 256 random bits: how long comparing takes tells nothing about them.
    isOfBrowser: (attempt, browser) => browser !== undefined && attempt.browserHash === hashOf(browser),
    isOver: (attempt) => attempt.expiresAt.getTime() <= clock(),
    async claim({ id }) {
      const [rows] = await table.update({ state: "redeeming" }, { where: { id, state: "pending", ...live() } });
      return rows === 1;
    },
    async finish({ id, connectionId, principalKey }, { state, code, text }) {
      const ending = { state, outcomeCode: code, outcomeText: text, sealedFlow: null };
      await table.update(ending, { where: { id, state: ["pending", "redeeming"] } });
      if (state !== "connected") return;
      // Whoever polls is told that it is connected; the next time is a new offer.
      await table.destroy({ where: { connectionId, principalKey, state: "offered" } });
    },
    flow(attempt) {
      return JSON.parse(open(keyring, attempt.sealedFlow ?? "", attemptAad(attempt)));
    },
    find: async (id) => plain(await table.findByPk(id)),
  };
}

function hashOf(value: string): string {
  return createHash("sha256").update(value).digest("hex");
}
