/** Opens one session of a connection, and keeps the connection's secrets out of everything that comes back. */
import {
  type AdapterContext,
  type AdapterSession,
  type Change,
  type Log,
  UpstreamError,
} from "../../adapters/contract.ts";
import { secretsOf } from "../../adapters/credential-scope.ts";
import { adapterFor } from "../../adapters/index.ts";
import { accessOf } from "../access/classes.ts";
import { JackfieldError } from "../errors.ts";
import { urlOf } from "../signin/binding.ts";
import { missingOf, openConfig } from "./credentials.ts";
import { ALWAYS_SET } from "./environment.ts";
import { envReferences } from "./file-secrets.ts";
import { createScrubber, scrubbedLog, scrubbedSession } from "./scrub.ts";
import type { ServedConnection } from "./types.ts";

const OPEN_TIMEOUT_MS = 60_000;

/** What every opening needs of the process. */
export interface OpeningParts {
  /** Guarded way out. */
  fetch: typeof globalThis.fetch;
  /** Guarded way to what the service at this URL names; absent: there is none. */
  named?: (url: URL, what?: "document" | "file") => Promise<typeof globalThis.fetch>;
  /** As `fetch`, for large bodies. */
  fetchStream: typeof globalThis.fetch;
  /** Where `${env:NAME}` is looked up. */
  env: Readonly<Record<string, string | undefined>>;
  /** Where pieces run; absent: nowhere. */
  pieces?: (caller: {
    connectionId: string;
    organizationId: string;
    principalKey?: string | undefined;
  }) => NonNullable<AdapterContext["pieces"]>;
  identity: { readonly name: string; readonly version: string };
  hop: { readonly header: string; readonly value: string };
  log: Log;
  /** Milliseconds since the epoch. */
  clock?: () => number;
}

/** What is opened, as what, and for how long. */
export interface Opening {
  connection: Pick<ServedConnection, "id" | "slug" | "type" | "config" | "auth" | "asks" | "organizationId"> &
    Partial<Pick<ServedConnection, "access">>;
  /** Whose session it is, where each user has their own. */
  principalKey?: string | undefined;
  credential: AdapterContext["credential"];
  memory: AdapterContext["memory"];
  /** Ends the session, also while it opens. */
  abort: AbortController;
  changed: (change: Change) => void;
}

/**
 * Opens the session.
 * @throws UpstreamError where the service does not open; JackfieldError `missing_variable`, `authorization_required`
 *   or `credential_unreadable` where its credential is not there
 */
export async function openSession(parts: OpeningParts, opening: Opening): Promise<AdapterSession> {
  const { fetch, fetchStream, env, identity, hop, log, clock = Date.now } = parts;
  const { connection, memory, abort, changed } = opening;
  const { access } = connection;
  const adapter = adapterFor(connection.type);
  if (adapter === undefined) {
    throw new UpstreamError("upstream_protocol", `Connections of type ${connection.type} are not served yet.`, {
      processed: "no",
    });
  }
  const missing = missingOf(connection, env);
  if (missing !== undefined) throw new JackfieldError("missing_variable", { text: `Missing ${missing}` });
  const scrubber = createScrubber();
  for (const secret of secretsOfCommand(connection, env)) scrubber.learn(secret);
  const credential: AdapterContext["credential"] = async (refused) => {
    const found = await opening.credential(refused);
    if (found !== undefined) for (const secret of secretsOf(found)) scrubber.learn(secret);
    return found;
  };
  // Asked now as well, so that a missing one is told as such and not as what the service makes of it.
  await credential();
  const timer = setTimeout(() => abort.abort(), OPEN_TIMEOUT_MS);
  const late = new Promise<never>((_resolve, reject) => {
    abort.signal.addEventListener("abort", () =>
      reject(new UpstreamError("upstream_timeout", "The service did not open in time.", { processed: "no" })),
    );
  });
  const opened = adapter.open({
    connection: { id: connection.id, slug: connection.slug },
    config: openConfig(connection, env),
    credential,
    fetch,
    namedFetch: async (input, init) => (await namedBy(parts, connection, "document"))(input, init),
    fileFetch: async (input, init) => (await namedBy(parts, connection, "file"))(input, init),
    fetchStream,
    ...(adapter.type === "ap" && parts.pieces !== undefined ? { pieces: parts.pieces(callerOf(opening)) } : {}),
    ...(access === undefined
      ? {}
      : { classOf: (action, annotations) => accessOf(access).classOf(action, annotations) }),
    log: scrubbedLog(log, scrubber),
    clock,
    signal: abort.signal,
    memory,
    identity,
    hop,
  });
  try {
    const session = scrubbedSession(await Promise.race([opened, late]), scrubber);
    session.onChange?.(changed);
    return session;
  } catch (error) {
    abort.abort();
    // One that opens after its time is over belongs to nobody.
    opened.then(
      (session) => session.close(),
      (reason: unknown) => {
        const text = scrubber.text(String(reason));
        log.debug({ connection: connection.slug, reason: text }, "a session did not open");
      },
    );
    throw scrubber.error(error);
  } finally {
    clearTimeout(timer);
    late.catch(() => undefined);
  }
}

async function namedBy(
  { named }: OpeningParts,
  connection: Opening["connection"],
  what: "document" | "file",
): Promise<typeof globalThis.fetch> {
  const url = urlOf(connection);
  if (named !== undefined && url !== undefined) return named(url, what);
  throw new JackfieldError("blocked_address", { detail: "nothing that this connection names can be reached" });
}

function callerOf({ connection, principalKey }: Opening) {
  return { connectionId: connection.id, organizationId: connection.organizationId, principalKey };
}

/** What the environment of a command gets from variables of ours. */
function secretsOfCommand({ config }: Pick<ServedConnection, "config">, env: OpeningParts["env"]): string[] {
  const own = typeof config["env"] === "object" && config["env"] !== null ? Object.values(config["env"]) : [];
  const named = own.flatMap((value) => (typeof value === "string" ? envReferences(value) : []));
  return named.filter((name) => !ALWAYS_SET.includes(name)).flatMap((name) => env[name] ?? []);
}
