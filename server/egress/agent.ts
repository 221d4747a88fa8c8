/**
 * Connections that only ever open to addresses the policy allows.
 *
 * The check sits in the connector, not before the request: whatever path leads here, a name is resolved once, every
 * answer is checked, and the socket goes to exactly these addresses, so that a name that changes between check and
 * connect (DNS rebinding) gains nothing. IP literals never pass through a lookup and are checked separately.
 */
import { lookup as systemLookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { rootCertificates } from "node:tls";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { parseAddress } from "./addresses.ts";
import { blocked, checkAddress, checkUrl, type Policy } from "./policy.ts";

export interface Resolved {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves a name to all its addresses. */
export type Resolver = (hostname: string) => Promise<readonly Resolved[]>;

/** The system's resolver, hosts file included. */
export const systemResolver: Resolver = async (hostname) => {
  const found = await systemLookup(hostname, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/** Milliseconds to wait for a connection. */
const CONNECT_TIMEOUT = 10_000;

type Connector = ReturnType<typeof buildConnector>;

/** Makes an undici Agent whose every socket obeys `policy`. Close it when done. */
export function createAgent(options: {
  policy: Policy;
  resolver: Resolver;
  /** A certificate (PEM) that is trusted beside those that Node trusts. */
  trust?: string | undefined;
}): Dispatcher {
  const { policy, resolver, trust } = options;
  const authorities = trust === undefined ? {} : { ca: [...rootCertificates, trust] };
  const connectors = new Map<string, Connector>();
  const connectorFor = (port: number, plain: boolean): Connector => {
    const key = `${port} ${plain}`;
    let connector = connectors.get(key);
    if (!connector) {
      connector = buildConnector({
        timeout: CONNECT_TIMEOUT,
        keepAlive: true,
        autoSelectFamily: true,
        ...authorities,
        lookup: guardedLookup(policy, resolver, port, plain),
      });
      // Ports are few; a list of upstreams that walks through thousands must not grow this for ever.
      if (connectors.size >= 256) connectors.clear();
      connectors.set(key, connector);
    }
    return connector;
  };
  const agent = new Agent({
    // Idle sockets wait a little less than the 5 s after which node:http servers close theirs.
    keepAliveTimeout: 4_000,
    connections: 64,
    pipelining: 1,
    connect: (target, callback) => {
      const plain = target.protocol === "http:";
      const port = Number(target.port) || (plain ? 80 : 443);
      const literal = parseAddress(target.hostname);
      try {
        if (literal) checkAddress(literal, port, policy, plain);
      } catch (error) {
        callback(asError(error), null);
        return;
      }
      connectorFor(port, plain)(target, callback);
    },
  });
  return agent.compose((dispatch) => (request, handler) => {
    if (request.origin !== undefined) checkUrl(new URL(request.origin), policy);
    return dispatch(request, handler);
  });
}

function guardedLookup(policy: Policy, resolver: Resolver, port: number, plain: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolver(hostname)
      .then((answers) => {
        if (answers.length === 0) throw notFound(hostname);
        for (const answer of answers) {
          const address = parseAddress(answer.address);
          if (!address) throw blocked(`${hostname} resolved to something that is not an address`);
          checkAddress(address, port, policy, plain);
        }
        const wanted = options.family === 4 || options.family === 6 ? options.family : undefined;
        const usable = answers.filter(({ family }) => wanted === undefined || family === wanted);
        const first = usable[0];
        if (!first) throw notFound(hostname);
        if (options.all) callback(null, [...usable]);
        else callback(null, first.address, first.family);
      })
      .catch((error: unknown) => callback(asError(error), ""));
  };
}

function notFound(hostname: string): Error {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: "ENOTFOUND", hostname });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
