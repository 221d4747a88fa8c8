/**
 * What kind of address an IP is, in every notation an upstream's URL may use. Pure: no I/O.
 *
 * Public means `unicast` in the sense of the IANA special-purpose registries (RFC 6890): carrier-grade NAT,
 * benchmarking, NAT64, 6to4, Teredo and IPv4 written inside IPv6 are all not public, because each of them can
 * lead back into a private network.
 */
import ipaddr from "ipaddr.js";
import type { AddressRange } from "../config.ts";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Addresses that stay closed whatever the operator allows: cloud metadata services outside link-local ranges. */
const METADATA = new Set(["100.100.100.200", "fd00:ec2::254", "168.63.129.16"]);

/** Ranges that are never an upstream, whatever the operator allows. */
const NEVER = new Set(["linkLocal", "unspecified", "multicast", "broadcast"]);

/**
 * Reads an IP address as `URL.hostname`, a resolver or a socket writes it: brackets and a zone are dropped.
 * Returns undefined for a name.
 */
export function parseAddress(host: string): Address | undefined {
  const bare = host.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  return ipaddr.isValid(bare) ? ipaddr.parse(bare) : undefined;
}

/** The IPv4 address inside an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2), else the address itself. */
export function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Only this part of IPv6 is assigned as global unicast (RFC 4291, 2.4; IANA); `::a.b.c.d` for one lies outside. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Whether anybody may be there: global unicast, and not an IPv4 address in IPv6 clothing. */
export function isPublic(address: Address): boolean {
  if (address.range() !== "unicast" || isNever(address)) return false;
  return !(address instanceof ipaddr.IPv6) || address.match(GLOBAL_IPV6);
}

/** Whether the address stays closed even where the operator allows its range: link-local, metadata, multicast. */
export function isNever(address: Address): boolean {
  const plain = unmapped(address);
  return NEVER.has(plain.range()) || METADATA.has(plain.toString());
}

/** Whether the address is this machine talking to itself. */
export function isLoopback(address: Address): boolean {
  return unmapped(address).range() === "loopback";
}

/** A parsed CIDR range. */
export interface Range {
  contains(address: Address): boolean;
}

/** The range of a parsed CIDR; IPv4 addresses in IPv6 clothes are looked at as what they are. */
export function rangeOf([base, bits]: AddressRange): Range {
  return {
    contains(address) {
      const plain = unmapped(address);
      return plain.kind() === base.kind() && plain.match(base, bits);
    },
  };
}
