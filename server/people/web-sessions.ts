/**
 * The sessions of people in browsers. The cookie holds 256 random bits, the store their hash: who reads the database
 * cannot sign in. Each sign-in makes a new session, so that an id from before it is worth nothing after it.
 */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Op } from "sequelize";
import type { Store } from "../store/database.ts";
import type { Row } from "../store/models/table.ts";
import type { WebSessionRow } from "../store/models/web-sessions.ts";
import type { Cookies } from "./cookies.ts";
import { namesOf } from "./groups.ts";
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

/** A session without what would let somebody use it. */
export type WebSession = Omit<WebSessionRow, "tokenHash">;

/** A request of a browser; express knows the address behind proxies that are trusted. */
export type BrowserRequest = IncomingMessage & { readonly ip?: string | undefined };

/** How somebody proved who they are. */
export interface SignedInBy {
  /** `password`, the kind of a one-time link, or the id of a provider. */
  readonly means: string;
  /** The identity of the provider. */
  readonly identityId?: string;
}

/** Who sits at a browser. */
export interface SignedIn {
  readonly person: Person;
  readonly session: WebSession;
  /** The person's role in an organization; undefined where they do not belong to it. */
  role(organizationId: string): Role | undefined;
  /** Names of the groups they are in there. */
  groups(organizationId: string): readonly string[];
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
  start(request: BrowserRequest, personId: string, by: SignedInBy): Promise<string[]>;
  /** Ends the session of this browser; returns the `Set-Cookie` headers to send. */
  end(request: IncomingMessage): Promise<string[]>;
  /** Those of a person that are not over, the one used last first. */
  list(personId: string): Promise<WebSession[]>;
  /** Ends one session of a person; false where they have no such one. */
  endOne(personId: string, id: string): Promise<boolean>;
  /** Ends every session of a person, but one where it is named; returns how many. */
  endAll(personId: string, but?: string): Promise<number>;
}

export interface WebSessionsOptions {
  store: Store;
  cookies: Cookies;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Told once for each session whose cookie came again after it had been ended: it may have been stolen. */
  onEndedUsed?: (session: WebSession, request: BrowserRequest) => Promise<void>;
}

/** Ended sessions whose use was told; more are forgotten and told again. */
const REMEMBERED = 1_000;

export function createWebSessions({ store, cookies, clock, onEndedUsed }: WebSessionsOptions): WebSessions {
  const { webSessions, people, members, memberGroups } = store.models;
  const answered = new WeakMap<IncomingMessage, Promise<SignedIn | undefined>>();
  const told = new Set<string>();

  async function tellEnded(session: WebSession, request: BrowserRequest): Promise<void> {
    if (told.has(session.id)) return;
    if (told.size >= REMEMBERED) told.clear();
    told.add(session.id);
    await onEndedUsed?.(session, request);
  }

  async function find(request: BrowserRequest): Promise<SignedIn | undefined> {
    const token = cookies.read(request, "session");
    if (token === undefined) return undefined;
    const session = await webSessions.findOne({ where: { tokenHash: hashOf(token) } });
    const now = clock();
    if (session === null) return undefined;
    if (session.endedAt !== null) await tellEnded(withoutToken(session), request);
    if (isOver(session, now)) return undefined;
    const person = await people.findOne({ where: { id: session.personId, disabledAt: null } });
    if (person === null) return undefined;
    const rows = await members.findAll({ where: { personId: person.id } });
    const groups = await memberGroups.findAll({ where: { personId: person.id } });
    await touch(session, now);
    const roles = new Map(rows.map(({ organizationId, role }) => [organizationId, role]));
    return {
      person: withoutHash(person),
      session: withoutToken(session),
      role: (organizationId) => roles.get(organizationId),
      groups: (organizationId) => namesOf(groups.filter((group) => group.organizationId === organizationId)),
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
    async start(request, personId, { means, identityId }) {
      await endOf(request);
      const token = randomBytes(32).toString("base64url");
      const now = new Date(clock());
      await webSessions.create({
        tokenHash: hashOf(token),
        personId,
        createdAt: now,
        lastSeenAt: now,
        authenticatedAt: now,
        means,
        identityId: identityId ?? null,
        address: request.ip ?? null,
        userAgent: plainText(request.headers["user-agent"]),
      });
      await webSessions.destroy({ where: { createdAt: { [Op.lt]: new Date(now.getTime() - KEPT_MS) } } });
      return [cookies.write("session", token, ABSOLUTE_MS), cookies.clear("visitor")];
    },
    async end(request) {
      await endOf(request);
      return [cookies.clear("session"), cookies.clear("visitor")];
    },
    async list(personId) {
      const rows = await webSessions.findAll({ where: { personId, endedAt: null }, order: [["lastSeenAt", "DESC"]] });
      const now = clock();
      return rows.filter((row) => !isOver(row, now)).map(withoutToken);
    },
    async endOne(personId, id) {
      const where = { id, personId, endedAt: null };
      const [ended] = await webSessions.update({ endedAt: new Date(clock()) }, { where });
      return ended === 1;
    },
    async endAll(personId, but) {
      const now = clock();
      // Those that ended by themselves are not counted.
      const open = (await webSessions.findAll({ where: { personId, endedAt: null } })).filter(({ id }) => id !== but);
      const where = { id: open.map(({ id }) => id), endedAt: null };
      await webSessions.update({ endedAt: new Date(now) }, { where });
      return open.filter((session) => !isOver(session, now)).length;
    },
  };
}

function isOver(session: WebSessionRow, now: number): boolean {
  return (
    session.endedAt !== null ||
    now - session.lastSeenAt.getTime() >= IDLE_MS ||
    now - session.createdAt.getTime() >= ABSOLUTE_MS
  );
}

function withoutToken(row: Row<WebSessionRow>): WebSession {
  const { tokenHash: _hash, ...session } = row.get({ plain: true });
  return session;
}

/** A stranger's text for a list: no control characters, cut. */
function plainText(text: string | undefined): string | null {
  const line = (text ?? "").replaceAll(/[\p{Cc}\p{Cf}]/gu, "").trim();
  return line === "" ? null : [...line].slice(0, 255).join("");
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
