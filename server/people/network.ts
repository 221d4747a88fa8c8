import ipaddr from "ipaddr.js";

/** What limits count an address as: an IPv4 address, or the /64 of an IPv6 one, which one household has to itself. */
export function networkOf(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv4") return parsed.toString();
  return `${parsed.toByteArray().slice(0, 8).join(".")}/64`;
}
