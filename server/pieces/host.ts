/** The sandbox as the adapter of pieces knows it, bound to one connection and whose credential it uses. */
import { type JsonObject, UpstreamError, type UpstreamErrorCode } from "../../adapters/contract.ts";
import type { PieceCall, PieceHost, PieceRun } from "../../adapters/pieces/host.ts";
import { type Json, SandboxError, type SandboxErrorCode, type SandboxPool } from "../../sandbox/contract.ts";
import { digestOf } from "../connections/digest.ts";
import type { PieceStore } from "./store.ts";

/** Whose calls these are. */
export interface PieceCaller {
  connectionId: string;
  organizationId: string;
  /** Where each user has an account of their own. */
  principalKey?: string | undefined;
}

/** Makes the hosts of connections on one pool. */
export function createPieceHosts(
  pool: SandboxPool,
  store: Pick<PieceStore, "describe">,
): (caller: PieceCaller) => PieceHost {
  return ({ connectionId, organizationId, principalKey }) => {
    const base = ({ bundle, auth, secrets, signal, deadline }: PieceCall) => ({
      bundle: { piece: bundle.slice(0, 12), hash: bundle },
      key: {
        connection: principalKey === undefined ? connectionId : `${connectionId}:${principalKey}`,
        // Another credential never meets what code kept of this one.
        credentialRevision: digestOf(auth ?? null),
      },
      organization: organizationId,
      ...(auth === undefined ? {} : { auth: asJson(auth) }),
      secrets,
      signal,
      ...(deadline === undefined ? {} : { deadline }),
    });
    return {
      async describe(bundle) {
        const description = store.describe(bundle);
        if (description !== undefined) return description;
        throw new UpstreamError("piece_unavailable", "The piece is not installed any more.", { processed: "no" });
      },
      run: ({ action, props, files, ...call }) =>
        outcomeOf(async () => {
          const { result, files: written } = await pool.run({ ...base(call), action, props: asObject(props), files });
          return { kind: "done", result, files: written };
        }),
      options: ({ action, prop, values, search, ...call }) =>
        outcomeOf(async () => {
          const asked = { action, prop, values: asObject(values), ...(search === undefined ? {} : { search }) };
          return { kind: "done", result: await pool.options({ ...base(call), ...asked }), files: [] };
        }),
      async validate({ authIndex, ...call }) {
        try {
          const answer = await pool.validate({ ...base(call), authIndex });
          return answer.supported ? answer : { supported: false, valid: false };
        } catch (error) {
          const failed = failureOf(error);
          // A check that throws says no in its own way.
          if (failed instanceof UpstreamError) throw failed;
          return { supported: true, valid: false, error: failed.error.message };
        }
      },
    };
  };
}

async function outcomeOf(work: () => Promise<PieceRun>): Promise<PieceRun> {
  try {
    return await work();
  } catch (error) {
    const failed = failureOf(error);
    if (failed instanceof UpstreamError) throw failed;
    return failed;
  }
}

/** What the sandbox ended, in the words of the contract; what the piece itself threw is an answer. */
function failureOf(error: unknown): UpstreamError | Extract<PieceRun, { kind: "failed" }> {
  if (!(error instanceof SandboxError)) throw error;
  if (error.code === "piece_error" && error.piece !== undefined) return { kind: "failed", error: error.piece };
  const { processed, refusal } = error;
  const detail = refusal === undefined ? error.code : `${error.code}: ${refusal.method} ${refusal.origin}`;
  return new UpstreamError(CODES[error.code], error.message, { processed, detail, cause: error });
}

const CODES: Readonly<Record<SandboxErrorCode, UpstreamErrorCode>> = {
  worker_oom: "worker_oom",
  worker_timeout: "worker_timeout",
  worker_died: "worker_died",
  cancelled: "upstream_timeout",
  sandbox_busy: "sandbox_unavailable",
  sandbox_closed: "sandbox_unavailable",
  sandbox_unavailable: "sandbox_unavailable",
  piece_unloadable: "piece_unavailable",
  no_such_action: "upstream_protocol",
  blocked_address: "blocked_address",
  unsupported_in_tool: "unsupported_in_tool",
  result_too_large: "result_too_large",
  piece_error: "upstream_status",
};

function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}

function asObject(value: JsonObject): { [key: string]: Json } {
  return JSON.parse(JSON.stringify(value));
}
