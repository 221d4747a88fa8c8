/**
 * Links on which a person allows a connected client more than before. A link carries the grant and the scope, sealed,
 * and proves nothing: the page behind it checks who opens it, and asks.
 */
import { z } from "zod";
import type { StepUp } from "../gateway/step-up.ts";
import { SCOPES, type Scope } from "../people/principal.ts";
import { awaitArrival } from "../shared-state/arrival.ts";
import { type Bus, TOPICS } from "../shared-state/contract.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, SealError, seal } from "../vault/seal.ts";
import type { Grants } from "./grants.ts";
import { impliedScopes } from "./scopes.ts";

export const STEP_UP_PATH = "/oauth/step-up";

const TICKET_AAD = "step-up-ticket";
/** Milliseconds a link works. */
const TICKET_MS = 60 * 60_000;
const MAX_TICKET = 1024;

const stored = z.object({ g: z.ulid(), s: z.enum(SCOPES), e: z.number() });

export interface StepUps extends StepUp {
  /** The grant's id and the scope of a link; undefined where it is none, was changed, or is too old. */
  read(ticket: string): { readonly grantId: string; readonly scope: Scope } | undefined;
}

export interface StepUpOptions {
  readonly keyring: Keyring;
  readonly bus: Bus;
  readonly grants: Pick<Grants, "live">;
  readonly origin: () => string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export function createStepUps({ keyring, bus, grants, origin, clock }: StepUpOptions): StepUps {
  return {
    page({ kind, tokenId }, scope) {
      if (kind !== "person") return undefined;
      const content: z.infer<typeof stored> = { g: tokenId, s: scope, e: clock() + TICKET_MS };
      return `${origin()}${STEP_UP_PATH}/${seal(keyring, JSON.stringify(content), TICKET_AAD)}`;
    },
    read(ticket) {
      if (ticket.length > MAX_TICKET) return undefined;
      try {
        const { g: grantId, s: scope, e: expiresAt } = stored.parse(JSON.parse(open(keyring, ticket, TICKET_AAD)));
        return expiresAt > clock() ? { grantId, scope } : undefined;
      } catch (error) {
        if (error instanceof SealError) return undefined;
        throw error;
      }
    },
    arrival: (principal, scope, signal, ms) =>
      awaitArrival(bus, {
        topic: TOPICS.tokens,
        concerns: ({ widened }) => widened === principal.tokenId,
        async look() {
          const grant = await grants.live(principal.tokenId);
          if (!impliedScopes(grant?.scopes ?? "").has(scope)) return undefined;
          return Object.freeze({ ...principal, scopes: impliedScopes([...principal.scopes, scope].join(" ")) });
        },
        signal,
        ms,
      }),
  };
}
