/** `node:net`, `tls`, `dns`, `http2` and other ways to the outside: they load, and refuse. */
import { events } from "./events.ts";
import { Duplex } from "./stream.ts";
import { standIn, unavailable } from "./unavailable.ts";

export class Socket extends Duplex {
  connect(): never {
    throw unavailable("net.Socket.connect");
  }
}

function isIPv4(text: unknown): boolean {
  const parts = String(text).split(".");
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256);
}

function isIPv6(text: unknown): boolean {
  return /^[0-9a-f:.]+$/i.test(String(text)) && String(text).includes(":") && URL.canParse(`http://[${String(text)}]`);
}

const version = (text: unknown): number => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);

export const net = standIn("net", {
  isIP: version,
  isIPv4,
  isIPv6,
  Socket,
  Stream: Socket,
  Server: class Server extends events.EventEmitter {},
});

export const tls = standIn("tls", {
  TLSSocket: Socket,
  rootCertificates: [],
  DEFAULT_MIN_VERSION: "TLSv1.2",
  DEFAULT_MAX_VERSION: "TLSv1.3",
});

export const dnsPromises = standIn("dns.promises");
export const dns = standIn("dns", { promises: dnsPromises, ADDRCONFIG: 1024, V4MAPPED: 2048 });

export const http2 = standIn("http2", {
  constants: new Proxy({}, { get: (_, name) => (typeof name === "string" ? name : undefined) }),
});
