/**
 * What a sign-in link carries: whose account at which connection, sealed, and nothing else. It is no proof of
 * anything: the page behind it checks who opens it.
 */
import { z } from "zod";
import type { Keyring } from "../vault/keyring.ts";
import { open, SealError, seal } from "../vault/seal.ts";

export const SIGN_IN_PATH = "/connections/sign-in";

/** What a ticket is sealed to. */
export const TICKET_AAD = "sign-in-ticket";
/** Milliseconds a link works. */
const TICKET_MS = 60 * 60_000;

/** Whose account it will be; `key` as in `principalKey`. */
export interface AccountPrincipal {
  readonly key: string;
  readonly issuer: string;
  readonly subject: string;
}

export interface Ticket {
  readonly connectionId: string;
  /** Absent: that of the person who opens the link. */
  readonly principal?: AccountPrincipal;
  /** The attempt that was offered with this link. */
  readonly attemptId?: string;
}

const stored = z.object({
  c: z.string(),
  p: z.tuple([z.string(), z.string(), z.string()]).exactOptional(),
  a: z.string().exactOptional(),
  e: z.number(),
});

export interface Tickets {
  /** The ticket of a link. */
  make(ticket: Ticket, lifeMs?: number): string;
  /** Undefined where it is none, was changed, or is too old. */
  read(text: string): Ticket | undefined;
}

/** @param clock milliseconds since the epoch */
export function createTickets(keyring: Keyring, clock: () => number): Tickets {
  return {
    make({ connectionId, principal, attemptId }, lifeMs = TICKET_MS) {
      const content: z.infer<typeof stored> = {
        c: connectionId,
        ...(principal ? { p: [principal.key, principal.issuer, principal.subject] } : {}),
        ...(attemptId === undefined ? {} : { a: attemptId }),
        e: clock() + lifeMs,
      };
      return seal(keyring, JSON.stringify(content), TICKET_AAD);
    },
    read(text) {
      const content = contentOf(keyring, text);
      if (!content || content.e <= clock()) return undefined;
      const [key, issuer, subject] = content.p ?? [];
      return {
        connectionId: content.c,
        ...(key !== undefined && issuer !== undefined && subject !== undefined
          ? { principal: { key, issuer, subject } }
          : {}),
        ...(content.a === undefined ? {} : { attemptId: content.a }),
      };
    },
  };
}

function contentOf(keyring: Keyring, text: string): z.infer<typeof stored> | undefined {
  if (text.length > 4096) return undefined;
  try {
    return stored.parse(JSON.parse(open(keyring, text, TICKET_AAD)));
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}
