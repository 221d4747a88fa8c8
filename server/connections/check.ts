/** The health of a connection, asked now: of one that is served, or of one that nobody saved yet. */
import type { AdapterContext, Health, Introduction } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import { failureOf, type ReaderOf } from "./catalogue.ts";
import { credentialOf } from "./credentials.ts";
import { introductionWords } from "./introduction-words.ts";
import { ensureState } from "./memory.ts";
import { type OpeningParts, openSession } from "./open-session.ts";
import type { ConnectionSessions } from "./sessions.ts";
import type { StoredCredentials } from "./stored-credentials.ts";
import type { ServedConnection } from "./types.ts";

/** How it is, and in the service's own words why. */
export interface Checked {
  state: Health["state"];
  /** Where unhealthy; `authentication_required` where the service wants a credential, or another one. */
  code?: string;
  message?: string;
}

/** Longest of the service's words that are kept. */
const MAX_MESSAGE = 2000;

/** Asks the service how it is and stores the answer. */
export async function checkConnection(
  {
    store,
    sessions,
    readerOf,
    clock = Date.now,
  }: { store: Store; sessions: ConnectionSessions; readerOf?: ReaderOf; clock?: () => number },
  connection: ServedConnection,
): Promise<Checked> {
  const reader = await readerOf?.(connection);
  const checked = await checkedBy((ask) =>
    sessions.use(connection, reader?.principalKey, (session) => ask(session.check(), session.introduction())),
  );
  await ensureState(store, connection.id);
  await store.models.connectionStates.update(
    {
      health: checked.state,
      healthCode: checked.code ?? null,
      healthMessage: checked.message?.slice(0, MAX_MESSAGE) ?? null,
      checkedAt: new Date(clock()),
    },
    { where: { connectionId: connection.id } },
  );
  return checked;
}

/** A connection as somebody fills it in. */
export interface Draft
  extends Pick<ServedConnection, "slug" | "organizationId" | "type" | "config" | "auth" | "asks" | "credential"> {
  /** Values typed in and not stored, by field; they come before those of the stored credential. */
  values: Readonly<Record<string, string>>;
}

/**
 * Asks the service of a connection that is not saved, with a session of its own. Nothing is stored. One that is to be
 * signed in to is asked without a credential: that it answers `authentication_required` shows that it is there.
 */
export async function checkUnsaved(
  parts: OpeningParts & { credentials: Pick<StoredCredentials, "find"> },
  draft: Draft,
): Promise<Checked> {
  const abort = new AbortController();
  return checkedBy(async (ask) => {
    const session = await openSession(parts, {
      connection: { ...draft, id: "unsaved" },
      credential: draftCredential(parts, draft),
      memory: { read: async () => undefined, write: async () => undefined },
      abort,
      changed: () => undefined,
    });
    try {
      return await ask(session.check(), session.introduction());
    } finally {
      await session.close().finally(() => abort.abort());
    }
  });
}

type Ask = (health: Promise<Health>, introduction: Introduction) => Promise<Health>;

/** What `work` finds out, its failures included; one of our own is thrown on. */
async function checkedBy(work: (ask: Ask) => Promise<Health>): Promise<Checked> {
  try {
    return await work(async (health, introduction) => {
      const answer = await health;
      const message = answer.message ?? (answer.state === "healthy" ? introductionWords(introduction) : undefined);
      return message === undefined ? answer : { ...answer, message };
    });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    return { state: "unhealthy", ...failure };
  }
}

function draftCredential(
  { env, credentials }: OpeningParts & { credentials: Pick<StoredCredentials, "find"> },
  draft: Draft,
): AdapterContext["credential"] {
  const given: Pick<StoredCredentials, "find"> = {
    async find(organizationId, name, options) {
      const stored = await credentials.find(organizationId, name, options);
      if (Object.keys(draft.values).length === 0) return stored;
      const base = stored ?? { id: "unsaved", kind: "secret" as const, revision: "unsaved", fields: [] };
      const fields = [...new Set([...base.fields, ...Object.keys(draft.values)])];
      return { ...base, fields, value: (field) => draft.values[field] ?? stored?.value(field) };
    },
  };
  return credentialOf(draft, { env, credentials: given });
}
