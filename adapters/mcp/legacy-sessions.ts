/**
 * A legacy upstream over HTTP: sessions, each belonging to one caller.
 *
 * A session is never shared between callers. Calls that may be asked back, or that want the upstream's log, have one
 * to themselves while they run: the client does not say on which request's stream a question came, so a question can
 * only be told to belong to a call that is alone. Sequential calls of one caller get the same session again.
 */
import type { AdapterContext, CallContext, Caller, Introduction, JsonObject } from "../contract.ts";
import { UpstreamError } from "../contract.ts";
import { isSessionLost } from "./failures.ts";
import { type Emit, type Lane, listChange, OWN_REQUEST_MS, within } from "./lane.ts";
import { declared, type Listener, type Notification, type Peer } from "./peer.ts";

/** Milliseconds after which an unused session is closed. */
const IDLE_MS = 5 * 60_000;
const SWEEP_MS = 30_000;
const MAX_SESSIONS = 1_000;
const MAX_SESSIONS_PER_CALLER = 32;
/** The caller of our own requests; no caller's key is empty. */
const OURSELVES = "";

interface Session {
  readonly callerKey: string;
  readonly bucket: string;
  readonly capabilities: JsonObject;
  peer: Promise<Peer>;
  users: number;
  exclusive: boolean;
  lastUsed: number;
}

export class LegacySessions implements Lane {
  readonly #context: AdapterContext;
  readonly #connect: (capabilities: JsonObject, listener: Listener) => Promise<Peer>;
  readonly #emit: Emit;
  readonly #introduction: Introduction;
  readonly #sessions = new Set<Session>();
  /** Resources a caller subscribed to: they live in one session of that caller, which is kept. */
  readonly #subscriptions = new Map<string, { session: Session; uris: Set<string> }>();
  readonly #levels = new Map<string, string>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(options: {
    context: AdapterContext;
    first: Peer;
    connect: (capabilities: JsonObject, listener: Listener) => Promise<Peer>;
    emit: Emit;
  }) {
    this.#context = options.context;
    this.#connect = options.connect;
    this.#emit = options.emit;
    this.#introduction = options.first.introduction();
    this.#sessions.add({
      callerKey: OURSELVES,
      bucket: bucketOf(OURSELVES, {}),
      capabilities: {},
      peer: Promise.resolve(options.first),
      users: 0,
      exclusive: false,
      lastUsed: this.#context.clock(),
    });
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  introduction(): Introduction {
    return this.#introduction;
  }

  async own<T>(work: (peer: Peer) => Promise<T>): Promise<T> {
    return this.#use({ callerKey: OURSELVES, capabilities: {}, exclusive: false }, work, (peer) => peer);
  }

  async call<T>(call: CallContext, work: (peer: Peer) => Promise<T>): Promise<T> {
    const { caller } = call;
    const wanted = {
      callerKey: caller.key,
      capabilities: call.ask ? declared(caller.capabilities) : {},
      exclusive: call.ask !== undefined || call.notify !== undefined,
    };
    return this.#use(
      wanted,
      async (peer) => {
        await this.#level(peer, caller.logLevel ?? this.#levels.get(caller.key));
        return work(peer);
      },
      (connecting) => within(call, connecting),
    );
  }

  /** Hears what a session is told outside of any call. */
  heard(callerKey: string, notification: Notification): void {
    const change = listChange(notification);
    if (change) this.#emit(change);
    else if (callerKey === OURSELVES) return;
    else if (notification.method === "notifications/message")
      this.#emit({ kind: "log", callerKey, params: notification.params ?? {} });
    else if (notification.method === "notifications/resources/updated") {
      const uri = notification.params?.["uri"];
      if (typeof uri === "string")
        this.#emit({ kind: "resource_updated", uri, callerKey, params: notification.params ?? {} });
    }
  }

  async subscribe(uri: string, caller: Caller): Promise<void> {
    const known = this.#subscriptions.get(caller.key);
    const session = known?.session ?? this.#take({ callerKey: caller.key, capabilities: {}, exclusive: false });
    if (!known) {
      // The subscription itself counts as a user: the session stays until it is forgotten.
      this.#subscriptions.set(caller.key, { session, uris: new Set() });
    }
    const peer = await session.peer;
    await peer.ask("resources/subscribe", { uri }, OWN_REQUEST_MS);
    this.#subscriptions.get(caller.key)?.uris.add(uri);
  }

  async unsubscribe(uri: string, caller: Caller): Promise<void> {
    const known = this.#subscriptions.get(caller.key);
    if (!known?.uris.delete(uri)) return;
    const peer = await known.session.peer;
    await peer.ask("resources/unsubscribe", { uri }, OWN_REQUEST_MS);
    if (known.uris.size > 0) return;
    this.#subscriptions.delete(caller.key);
    this.#leave(known.session);
  }

  async setLogLevel(level: string, caller: Caller): Promise<void> {
    this.#levels.set(caller.key, level);
    const own = [...this.#sessions].filter((session) => session.callerKey === caller.key);
    if (own.length === 0) own.push(this.#idle(caller.key));
    await Promise.all(own.map(async (session) => this.#level(await session.peer, level)));
  }

  async forget(callerKey: string): Promise<void> {
    this.#levels.delete(callerKey);
    this.#subscriptions.delete(callerKey);
    const own = [...this.#sessions].filter((session) => session.callerKey === callerKey);
    await Promise.all(own.map((session) => this.#end(session)));
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#sessions].map((session) => this.#end(session)));
  }

  async #use<T>(
    wanted: { callerKey: string; capabilities: JsonObject; exclusive: boolean },
    work: (peer: Peer) => Promise<T>,
    wait: (connecting: Promise<Peer>) => Promise<Peer>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const session = this.#take(wanted);
      const connecting = session.peer;
      try {
        return await work(await wait(connecting));
      } catch (error) {
        // The session is unknown upstream, so the request was refused unread: once more in a new one.
        if (!isSessionLost(error) || attempt > 1) throw error;
        this.#context.log.info({ connection: this.#context.connection.slug }, "the upstream has forgotten our session");
        if (session.peer === connecting) await this.#replace(session);
      } finally {
        this.#leave(session);
      }
    }
  }

  #take(wanted: { callerKey: string; capabilities: JsonObject; exclusive: boolean }): Session {
    const bucket = bucketOf(wanted.callerKey, wanted.capabilities);
    const candidates = [...this.#sessions].filter((session) => session.bucket === bucket && !session.exclusive);
    const found = candidates.find((session) => !wanted.exclusive || session.users === this.#pins(session));
    const session = found ?? this.#open(wanted.callerKey, bucket, wanted.capabilities);
    session.users += 1;
    session.exclusive = wanted.exclusive;
    return session;
  }

  #leave(session: Session): void {
    session.users -= 1;
    session.exclusive = false;
    session.lastUsed = this.#context.clock();
  }

  /** A subscription uses a session without being a call on it. */
  #pins(session: Session): number {
    return this.#subscriptions.get(session.callerKey)?.session === session ? 1 : 0;
  }

  #idle(callerKey: string): Session {
    const session = this.#take({ callerKey, capabilities: {}, exclusive: false });
    this.#leave(session);
    return session;
  }

  #open(callerKey: string, bucket: string, capabilities: JsonObject): Session {
    const own = [...this.#sessions].filter((session) => session.callerKey === callerKey);
    if (this.#sessions.size >= MAX_SESSIONS || own.length >= MAX_SESSIONS_PER_CALLER)
      throw new UpstreamError("upstream_unreachable", "Too many calls to this service are waiting; try again later.", {
        processed: "no",
      });
    const now = this.#context.clock();
    const peer = this.#connected(callerKey, capabilities);
    const session: Session = { callerKey, bucket, capabilities, peer, users: 0, exclusive: false, lastUsed: now };
    this.#sessions.add(session);
    this.#watch(session);
    return session;
  }

  #connected(callerKey: string, capabilities: JsonObject): Promise<Peer> {
    return this.#connect(capabilities, (_peer, notification) => this.heard(callerKey, notification));
  }

  #watch(session: Session): void {
    const { peer } = session;
    peer.then(
      (open) =>
        open.onClose(() => {
          if (session.peer === peer) this.#drop(session);
        }),
      () => this.#drop(session),
    );
  }

  /** Opens the session anew, with what the caller had set up in it. */
  async #replace(session: Session): Promise<void> {
    const lost = session.peer;
    if (!this.#sessions.has(session)) return;
    session.peer = this.#connected(session.callerKey, session.capabilities);
    this.#watch(session);
    const old = await lost.catch(() => undefined);
    old?.retire(this.#context.log);
    const peer = await session.peer;
    const kept = this.#subscriptions.get(session.callerKey);
    if (kept?.session === session)
      for (const uri of kept.uris) await peer.ask("resources/subscribe", { uri }, OWN_REQUEST_MS);
  }

  #drop(session: Session): void {
    this.#sessions.delete(session);
    if (this.#subscriptions.get(session.callerKey)?.session === session) this.#subscriptions.delete(session.callerKey);
  }

  async #end(session: Session): Promise<void> {
    this.#drop(session);
    const peer = await session.peer.catch(() => undefined);
    if (!peer) return;
    await endSession(peer, this.#context);
  }

  #sweep(): void {
    const now = this.#context.clock();
    for (const session of this.#sessions) {
      if (session.callerKey === OURSELVES || session.users > 0 || now - session.lastUsed < IDLE_MS) continue;
      this.#end(session).catch((error: unknown) => this.#context.log.debug({ error }, "closing a session failed"));
    }
  }

  async #level(peer: Peer, level: string | undefined): Promise<void> {
    if (level === undefined || peer.level === level || !peer.offers("logging")) return;
    await peer.ask("logging/setLevel", { level }, OWN_REQUEST_MS);
    peer.level = level;
  }
}

/** Tells the upstream that the session is over (DELETE), briefly, and closes it. */
async function endSession(peer: Peer, context: AdapterContext): Promise<void> {
  const { transport } = peer.client;
  if (transport && "terminateSession" in transport && typeof transport.terminateSession === "function") {
    const ended: Promise<void> = transport.terminateSession();
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, 1_000).unref();
    });
    const told = ended.catch((error: unknown) => context.log.debug({ error }, "the upstream kept the session"));
    await Promise.race([told, patience]);
    clearTimeout(timer);
  }
  await peer.close();
}

function bucketOf(callerKey: string, capabilities: JsonObject): string {
  return `${callerKey}\n${JSON.stringify(capabilities)}`;
}
