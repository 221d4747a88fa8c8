/**
 * `requestState` (MCP 2026-07-28, multi round-trip requests): what the client carries back between the rounds of one
 * call. Sealed, and bound to principal, endpoint, tool and arguments, so that it opens for the same call only.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "../../../adapters/contract.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import type { Scope } from "../../people/principal.ts";
import type { Keyring } from "../../vault/keyring.ts";
import { open, seal } from "../../vault/seal.ts";

/** `parked`: the call waits in this process. `upstream`: the upstream's own state, to be sent back to it. */
export interface RoundState {
  readonly parked?: string;
  readonly upstream?: string;
  /** Slug of the connection whose sign-in page the caller was asked to open. It is asked once. */
  readonly signIn?: string;
  /** The scope that the caller was asked to allow on a page of ours. It is asked once. */
  readonly stepUp?: Scope;
  /** Id of the approval that the caller was asked for. */
  readonly approval?: string;
  /** The approval that was taken for this call, and its round: an upstream's question is part of one approved call. */
  readonly continues?: { readonly id: string; readonly round: number };
  /** The caller declined a question of this call before: it is not asked again. */
  readonly refused?: boolean;
}

export interface StateSeal {
  seal(caller: GatewayCaller, subject: string, args: unknown, state: RoundState): string;
  /** Undefined where the state was not made here; null where it was but does not belong to this call or is too old. */
  open(caller: GatewayCaller, subject: string, args: unknown, sealed: string): RoundState | null | undefined;
}

const PREFIX = "jkf.";
const LIFETIME_MS = 10 * 60_000;

/** Makes the seal of one deployment; every replica with the same key opens it. */
export function createStateSeal(keyring: Keyring, clock: () => number): StateSeal {
  const bound = (caller: GatewayCaller, subject: string, args: unknown) => {
    const digest = createHash("sha256")
      .update(JSON.stringify(args ?? {}))
      .digest("hex");
    return `request-state|${caller.principal.key}|${caller.endpoint.id}|${subject}|${digest}`;
  };
  return {
    seal(caller, subject, args, state) {
      const body: JsonObject = { ...state, expires: clock() + LIFETIME_MS };
      return PREFIX + seal(keyring, JSON.stringify(body), bound(caller, subject, args));
    },
    open(caller, subject, args, sealed) {
      if (!sealed.startsWith(PREFIX)) return undefined;
      let text: string;
      try {
        text = open(keyring, sealed.slice(PREFIX.length), bound(caller, subject, args));
      } catch {
        // Forged, tampered with, or of another call: all the same to whoever sent it.
        return null;
      }
      const state: RoundState & { expires: number } = JSON.parse(text);
      return state.expires > clock() ? state : null;
    },
  };
}
