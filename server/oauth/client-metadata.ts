/**
 * Client id metadata documents: a client's id is the https URL of its metadata, which we fetch. A stranger names that
 * URL, so everything about it is bounded: egress decides about the address, we about size, time and how often.
 */
import type { JsonObject } from "../../adapters/contract.ts";
import type { Log } from "../observe/log.ts";
import type { RedirectPolicy } from "./redirects.ts";
import { isProblem, normaliseDocument } from "./registration-normaliser.ts";

/** What is kept of a document: clients name themselves in little. */
export const MAX_DOCUMENT_BYTES = 5 * 1024;
const TIMEOUT_MS = 2_000;
/** How long a document that could not be used is not asked for again. */
const NEGATIVE_MS = 60_000;
const NEGATIVE_CAPACITY = 1_000;

export interface DocumentsOptions {
  /** Guarded: only https to public addresses. */
  readonly fetch: typeof globalThis.fetch;
  readonly redirects: RedirectPolicy;
  readonly log: Log;
  readonly clock: () => number;
}

export interface Documents {
  readonly fetch: typeof globalThis.fetch;
  /** Whether a document could not be used a moment ago. */
  hasFailed(url: string): boolean;
}

/**
 * The `fetch` for the library. It answers for documents of clients with what `normaliseDocument` made of them, and
 * rejects where one cannot be used; other things the library asks for (`jwks_uri`) go the same way unchanged.
 */
export function createDocuments({ fetch, redirects, log, clock }: DocumentsOptions): Documents {
  const failed = new Map<string, number>();

  function fail(url: string, reason: string): Error {
    if (failed.size >= NEGATIVE_CAPACITY) failed.clear();
    failed.set(url, clock() + NEGATIVE_MS);
    log.warn({ document: url, reason }, "the metadata document of a client cannot be used");
    return new Error(reason);
  }

  const hasFailed = (url: string): boolean => clock() < (failed.get(url) ?? 0);

  const guarded: typeof globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (hasFailed(url)) throw new Error("the document could not be used a moment ago");
    failed.delete(url);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method: "GET",
        headers: { accept: "application/json" },
        redirect: "manual",
        signal,
      });
      text = await response.text();
    } catch (error) {
      throw fail(url, error instanceof Error ? error.message : String(error));
    }
    if (response.status !== 200) throw fail(url, `the answer has status ${response.status}`);
    if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) throw fail(url, `it is larger than ${MAX_DOCUMENT_BYTES} bytes`);
    const cached = response.headers.get("cache-control");
    const headers = { "content-type": "application/json", ...(cached === null ? {} : { "cache-control": cached }) };
    if (init?.redirect !== "manual") return new Response(text, { headers });
    const document = parseDocument(text, url);
    if (typeof document === "string") throw fail(url, document);
    const normal = normaliseDocument(document, redirects);
    if (isProblem(normal)) throw fail(url, normal.error_description);
    return Response.json(normal, { headers });
  };
  return { fetch: guarded, hasFailed };
}

/** The document, or what is wrong with it (client-id-metadata-document draft, section 4.1). */
function parseDocument(text: string, url: string): JsonObject | string {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return "it is not JSON";
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) return "it is not a JSON object";
  const { client_id: id, client_name: name }: { client_id?: unknown; client_name?: unknown } = document;
  if (id !== url) return "its client_id is not its own URL";
  if (typeof name !== "string" || name.trim() === "") return "it has no client_name";
  return { ...document };
}

/**
 * Whether documents can be fetched from here at all. Clients that see them offered do not fall back to registration
 * when the fetch fails, so a server without a way to the internet must not offer them.
 * @param probe a document that a widely used client has; any answer counts
 */
export async function reachesInternet(
  fetch: typeof globalThis.fetch,
  probe = "https://claude.ai/oauth/claude-code-client-metadata",
): Promise<boolean> {
  try {
    await fetch(probe, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(3_000) });
    return true;
  } catch {
    return false;
  }
}
