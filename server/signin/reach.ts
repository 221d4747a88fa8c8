/** How a connection, and what it names, is reached while signing in: without a credential. */
import { adapterFor } from "../../adapters/index.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { Egress } from "../egress/fetch.ts";
import { urlOf } from "./binding.ts";
import type { FindOptions } from "./find-server.ts";

/** Milliseconds in which a service has to say where one signs in. */
const ASK_MS = 15_000;

export interface ReachOptions {
  readonly egress: Pick<Egress, "upstreamFetch" | "namedBy">;
  /** Whether the operator opened loopback to connections, with plain http. */
  readonly allowsLoopback: boolean;
  readonly hop: { readonly header: string; readonly value: string };
}

export type Reach = (connection: ServedConnection, url: URL) => Promise<FindOptions>;

export function createReach({ egress, allowsLoopback, hop }: ReachOptions): Reach {
  return async (connection, url) => ({
    upstream: egress.upstreamFetch,
    named: await egress.namedBy(url),
    headers: { ...plainHeaders(connection), [hop.header]: hop.value },
    allowsLoopback,
    told: async (wants) =>
      adapterFor(connection.type)?.signInPlace?.(wants, {
        config: connection.config,
        fetch: egress.upstreamFetch,
        hop,
        signal: AbortSignal.timeout(ASK_MS),
      }),
  });
}

/** The fetch for what a connection names. @throws TypeError for one that has no URL */
export async function namedBy(
  egress: Pick<Egress, "namedBy">,
  connection: Pick<ServedConnection, "slug" | "config">,
): Promise<typeof fetch> {
  const url = urlOf(connection);
  if (!url) throw new TypeError(`${connection.slug} has no URL`);
  return egress.namedBy(url);
}

/** The configured headers that are the same for everybody. */
function plainHeaders({ config }: ServedConnection): Record<string, string> {
  const { headers } = config;
  if (typeof headers !== "object" || headers === null) return {};
  const entries = Object.entries(headers).filter(([, value]) => typeof value === "string" && !value.includes("${{"));
  return Object.fromEntries(entries);
}
