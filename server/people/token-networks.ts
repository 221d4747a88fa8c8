/** From where a token may come. */
import ipaddr from "ipaddr.js";
import { parseRange } from "../config.ts";

/** The first that is neither an address nor a network in CIDR notation; undefined where each is. */
export function wrongNetwork(networks: readonly string[]): string | undefined {
  return networks.find((network) => parseRange(network) === undefined);
}

/** `::ffff:a.b.c.d` counts as a.b.c.d: that is how a dual-stack socket names an IPv4 peer. */
export function isWithin(ip: string | undefined, networks: readonly string[]): boolean {
  if (ip === undefined || !ipaddr.isValid(ip)) return false;
  const address = ipaddr.process(ip);
  return networks.some((network) =>
    parseRange(network)?.some((range) => range[0].kind() === address.kind() && address.match(range[0], range[1])),
  );
}
