/**
 * How a loop through ourselves is seen: a header on every request to an upstream, and a list in `_meta` of calls that
 * other deployments carry on.
 */
import type { IncomingMessage } from "node:http";
import type { JsonObject } from "../../adapters/contract.ts";

/** Lower-case, as node gives header names. */
export const HOP_HEADER = "jackfield-hop";
const HOPS_META = "jackfield/hops";
const MOST_HOPS = 16;

/** Whether a request came through this deployment before. */
export function cameThrough(instanceId: string, request: IncomingMessage): boolean {
  const value = request.headers[HOP_HEADER];
  return typeof value === "string" && value.split(",").some((hop) => hop.trim() === instanceId);
}

/** The same for a call that another deployment passed on. */
export function calledThrough(instanceId: string, body: unknown): boolean {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.some((message) => hopsOf(metaOf(message)).includes(instanceId));
}

/** `_meta` entry for the next upstream: every deployment so far, and this one. */
export function nextHops(instanceId: string, meta: JsonObject): JsonObject {
  return { [HOPS_META]: [...hopsOf(meta).slice(-MOST_HOPS), instanceId] };
}

function hopsOf(meta: unknown): string[] {
  const hops = typeof meta === "object" && meta !== null && HOPS_META in meta ? meta[HOPS_META] : undefined;
  return Array.isArray(hops) ? hops.filter((hop) => typeof hop === "string") : [];
}

function metaOf(message: unknown): unknown {
  const params = typeof message === "object" && message !== null && "params" in message ? message.params : undefined;
  return typeof params === "object" && params !== null && "_meta" in params ? params._meta : undefined;
}
