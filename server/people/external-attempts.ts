/**
 * Ways to another server and back. One belongs to the browser in which it began, ends once, and lasts ten minutes; what
 * its protocol has to remember is sealed.
 */
import { createHash, randomBytes } from "node:crypto";
import { Op } from "sequelize";
import type { Store } from "../store/database.ts";
import type { ExternalSignInRow } from "../store/models/external-sign-ins.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, seal } from "../vault/seal.ts";
import type { ProtocolSession } from "./providers/provider.ts";

/** Milliseconds that somebody has to sign in at the other server. */
export const EXTERNAL_MS = 10 * 60_000;

const STATE = /^[A-Za-z0-9_-]{43}$/;

export type ExternalAttempt = Omit<ExternalSignInRow, "stateHash" | "browserHash" | "sealedSession" | "sealedResponse">;

export interface NewAttempt {
  readonly provider: string;
  readonly purpose: ExternalSignInRow["purpose"];
  readonly personId?: string;
  readonly linkId?: string;
  readonly returnTo: string;
}

export interface ExternalAttempts {
  /** A new value of `state`: 256 random bits. */
  newState(): string;
  /** @param browser value of the cookie that marks the browser */
  begin(attempt: NewAttempt, state: string, browser: string, session: ProtocolSession): Promise<void>;
  /** An attempt by what came back, used or not; undefined where it is unknown or too old. */
  find(state: string): Promise<ExternalAttempt | undefined>;
  /** Whether it began in the browser with this cookie. */
  beganIn(state: string, browser: string | undefined): Promise<boolean>;
  /** Keeps a posted answer until the browser comes for it. False where there is one already, or the attempt ended. */
  keepAnswer(state: string, answer: string): Promise<boolean>;
  /** Uses the attempt up; undefined where that was done before. */
  claim(state: string): Promise<{ session: ProtocolSession; answer: string | undefined } | undefined>;
}

/** What the columns of an attempt are sealed to. */
export function externalSignInAad({ id }: Pick<ExternalSignInRow, "id">): string {
  return `external-sign-in|${id}`;
}

export function createExternalAttempts({
  store,
  keyring,
  clock,
}: {
  store: Store;
  keyring: Keyring;
  /** Milliseconds since the epoch. */
  clock: () => number;
}): ExternalAttempts {
  const { externalSignIns } = store.models;

  const rowOf = async (state: string) => {
    if (!STATE.test(state)) return null;
    return externalSignIns.findOne({ where: { stateHash: hashOf(state), expiresAt: { [Op.gt]: new Date(clock()) } } });
  };

  return {
    newState: () => randomBytes(32).toString("base64url"),
    async begin({ personId, linkId, ...attempt }, state, browser, session) {
      const now = clock();
      await externalSignIns.destroy({ where: { expiresAt: { [Op.lt]: new Date(now - EXTERNAL_MS) } } });
      const row = externalSignIns.build({
        ...attempt,
        personId: personId ?? null,
        linkId: linkId ?? null,
        stateHash: hashOf(state),
        browserHash: hashOf(browser),
        sealedSession: "",
        createdAt: new Date(now),
        expiresAt: new Date(now + EXTERNAL_MS),
      });
      row.sealedSession = seal(keyring, JSON.stringify(session), externalSignInAad(row));
      await row.save();
    },
    async find(state) {
      const row = await rowOf(state);
      if (row === null) return undefined;
      const { stateHash: _state, browserHash: _browser, sealedSession: _session, ...rest } = row.get({ plain: true });
      const { sealedResponse: _response, ...attempt } = rest;
      return attempt;
    },
    async beganIn(state, browser) {
      const row = await rowOf(state);
      return row !== null && browser !== undefined && row.browserHash === hashOf(browser);
    },
    async keepAnswer(state, answer) {
      const row = await rowOf(state);
      if (row === null) return false;
      const sealedResponse = seal(keyring, answer, externalSignInAad(row));
      const where = { id: row.id, sealedResponse: null, claimedAt: null };
      const [kept] = await externalSignIns.update({ sealedResponse }, { where });
      return kept === 1;
    },
    async claim(state) {
      const row = await rowOf(state);
      if (row === null) return undefined;
      const where = { id: row.id, claimedAt: null };
      const [claimed] = await externalSignIns.update({ claimedAt: new Date(clock()) }, { where });
      if (claimed !== 1) return undefined;
      const session: ProtocolSession = JSON.parse(open(keyring, row.sealedSession, externalSignInAad(row)));
      const answer =
        row.sealedResponse === null ? undefined : open(keyring, row.sealedResponse, externalSignInAad(row));
      return { session, answer };
    },
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
