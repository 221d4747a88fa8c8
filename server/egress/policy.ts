/**
 * Which URLs and addresses may be reached. Pure, apart from the list of our own listeners that is handed in.
 */
import { networkInterfaces } from "node:os";
import { JackfieldError } from "../errors.ts";
import { type Address, isLoopback, isNever, isPublic, parseAddress, type Range, unmapped } from "./addresses.ts";

/** A listener that no connection may reach: our own (a loop), the database, Redis. */
export interface Closed {
  /** IP address; `0.0.0.0` or `::` stands for every address of this machine. */
  readonly host: string;
  readonly port: number;
  /** Ours: reaching it would be a loop. */
  readonly own?: boolean;
}

export interface Policy {
  /** Private ranges that the operator opened; plain http is allowed to exactly these. */
  readonly ranges: readonly Range[];
  readonly closed: () => readonly Closed[];
}

/** Refuses with `blocked_address`; the detail is for log and audit only, since it tells about our network. */
export function blocked(detail: string): JackfieldError {
  return new JackfieldError("blocked_address", { detail });
}

/**
 * Checks what can be known from the URL alone: scheme, userinfo, and the address where the host is a literal
 * (no lookup happens for those, so the lookup hook would never see them).
 * Throws `blocked_address` or `loop_detected`.
 */
export function checkUrl(url: URL, policy: Policy): void {
  if (url.protocol !== "https:" && url.protocol !== "http:") throw blocked(`${url.protocol} is not http or https`);
  if (url.username !== "" || url.password !== "") throw blocked("the URL carries a user name or password");
  if (url.protocol === "http:" && policy.ranges.length === 0) throw blocked(`plain http to ${url.host}`);
  const literal = parseAddress(url.hostname);
  if (literal) checkAddress(literal, portOf(url), policy, url.protocol === "http:");
}

/**
 * Checks one address a name resolved to, or a literal.
 * `plain`: the request is unencrypted, so only the ranges opened by the operator qualify.
 * Throws `blocked_address` or `loop_detected`.
 */
export function checkAddress(address: Address, port: number, policy: Policy, plain: boolean): void {
  const at = `${address.toString()} port ${port}`;
  if (isNever(address)) throw blocked(`${at} stays closed`);
  for (const closed of policy.closed()) {
    if (!isListener(closed, address, port)) continue;
    if (closed.own) throw new JackfieldError("loop_detected", { detail: `${at} is this server` });
    throw blocked(`${at} belongs to this server's own parts`);
  }
  if (policy.ranges.some((range) => range.contains(address))) return;
  if (!isPublic(address)) throw blocked(`${at} is not public (${address.range()})`);
  if (plain) throw blocked(`plain http to ${at}`);
}

/** The port a URL means, with the default of its scheme. */
export function portOf(url: { protocol: string; port: string }): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function isListener(closed: Closed, address: Address, port: number): boolean {
  if (closed.port !== port) return false;
  const host = parseAddress(closed.host);
  if (!host) return false;
  const plain = unmapped(address).toString();
  if (unmapped(host).range() !== "unspecified") return unmapped(host).toString() === plain;
  if (isLoopback(address)) return true;
  return Object.values(networkInterfaces()).some((list) => list?.some((own) => own.address === plain));
}
