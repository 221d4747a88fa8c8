/**
 * The sessions of people in browsers. The cookie holds 256 random bits, the store their hash: who reads the database
 * cannot sign in. Each sign-in makes a new session, so that an id from before it is worth nothing after it.
 */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Op } from "sequelize";
import type { Store } from "../store/database.ts";
import type { WebSessionRow } from "../store/models/web-sessions.ts";
import type { Cookies } from "./cookies.ts";
import { type Person, withoutHash } from "./people.ts";
import type { Role } from "./permissions.ts";

/** Milliseconds without a request after which a session ends. */
export const IDLE_MS = 8 * 3_600_000;
/** Milliseconds after which it ends whatever happens. */
export const ABSOLUTE_MS = 7 * 86_400_000;
/** How often the time of the last request is written. */
const TOUCH_MS = 60_000;
/** Rows are kept for a while after their end, to be looked at. */
const KEPT_MS = 30 * 86_400_000;

/** Who sits at a browser. */
export interface SignedIn {
  readonly person: Person;
  readonly session: Omit<WebSessionRow, "tokenHash">;
  /** The person's role in an organization; undefined where they do not belong to it. */
  role(organizationId: string): Role | undefined;
  /** The organizations they belong to. */
  readonly organizationIds: readonly string[];
}

export interface WebSessions {
  /** Who is signed in where this request comes from. Asks the store once per request. */
  personOf(request: IncomingMessage): Promise<SignedIn | undefined>;
  /**
   * Starts a session for a person who has just proved who they are, and ends the one that the browser had.
   * Returns the `Set-Cookie` headers to send.
   */
  start(request: IncomingMessage, personId: string): Promise<string[]>;
  /** Ends the session of this browser; returns the `Set-Cookie` headers to send. */
  end(request: IncomingMessage): Promise<string[]>;
  /** Ends every session of a person. */
  endAll(personId: string): Promise<void>;
}

export interface WebSessionsOptions {
  store: Store;
  cookies: Cookies;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export function createWebSessions({ store, cookies, clock }: WebSessionsOptions): WebSessions {
  const { webSessions, people, members } = store.models;
  const answered = new WeakMap<IncomingMessage, Promise<SignedIn | undefined>>();

  async function find(request: IncomingMessage): Promise<SignedIn | undefined> {
    const token = cookies.read(request, "session");
    if (token === undefined) return undefined;
    const session = await webSessions.findOne({ where: { tokenHash: hashOf(token), endedAt: null } });
    const now = clock();
    if (session === null || isOver(session, now)) return undefined;
    const person = await people.findOne({ where: { id: session.personId, disabledAt: null } });
    if (person === null) return undefined;
    const rows = await members.findAll({ where: { personId: person.id } });
    await touch(session, now);
    const roles = new Map(rows.map(({ organizationId, role }) => [organizationId, role]));
    const { tokenHash: _hash, ...shown } = session.get({ plain: true });
    return {
      person: withoutHash(person),
      session: shown,
      role: (organizationId) => roles.get(organizationId),
      organizationIds: [...roles.keys()],
    };
  }

  async function touch(session: WebSessionRow, now: number): Promise<void> {
    if (now - session.lastSeenAt.getTime() < TOUCH_MS) return;
    await webSessions.update({ lastSeenAt: new Date(now) }, { where: { id: session.id, endedAt: null } });
  }

  async function endOf(request: IncomingMessage): Promise<void> {
    const token = cookies.read(request, "session");
    answered.delete(request);
    if (token === undefined) return;
    await webSessions.update({ endedAt: new Date(clock()) }, { where: { tokenHash: hashOf(token), endedAt: null } });
  }

  return {
    personOf(request) {
      let answer = answered.get(request);
      if (answer === undefined) {
        answer = find(request);
        answered.set(request, answer);
      }
      return answer;
    },
    async start(request, personId) {
      await endOf(request);
      const token = randomBytes(32).toString("base64url");
      const now = new Date(clock());
      await webSessions.create({
        tokenHash: hashOf(token),
        personId,
        createdAt: now,
        lastSeenAt: now,
        authenticatedAt: now,
      });
      await webSessions.destroy({ where: { createdAt: { [Op.lt]: new Date(now.getTime() - KEPT_MS) } } });
      return [cookies.write("session", token, ABSOLUTE_MS), cookies.clear("visitor")];
    },
    async end(request) {
      await endOf(request);
      return [cookies.clear("session"), cookies.clear("visitor")];
    },
    async endAll(personId) {
      await webSessions.update({ endedAt: new Date(clock()) }, { where: { personId, endedAt: null } });
    },
  };
}

function isOver(session: WebSessionRow, now: number): boolean {
  return now - session.lastSeenAt.getTime() >= IDLE_MS || now - session.createdAt.getTime() >= ABSOLUTE_MS;
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
