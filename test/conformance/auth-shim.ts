/**
 * A loopback proxy that adds a bearer token to every request. The official server suite has no way to send one, so it
 * talks to this shim where the endpoint demands a token. Everything else passes unchanged, Host and Origin included
 * (the DNS rebinding scenario needs them), and bodies stream in both directions.
 */

import { Agent, createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";

/** A running shim; `url` answers as the target URL does to a caller with the token. */
export interface AuthShim {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a shim in front of `target`, an http URL; a request that brings its own Authorization keeps it. */
export async function startAuthShim(target: string, token: string): Promise<AuthShim> {
  const { hostname, port, pathname } = new URL(target);
  const agent = new Agent({ keepAlive: true });

  const server = createServer((incoming, outgoing) => {
    const headers = { authorization: `Bearer ${token}`, ...incoming.headers };
    const forwarded = sendRequest(
      // setHost: the caller's own Host header is among the headers.
      { hostname, port, path: incoming.url, method: incoming.method, headers, agent, setHost: false },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        // An event stream may send its first event long after its headers.
        outgoing.flushHeaders();
        pipeline(answer, outgoing, () => forwarded.destroy());
      },
    );
    forwarded.on("error", () => {
      if (!outgoing.headersSent) outgoing.writeHead(502);
      outgoing.end();
    });
    // A caller that hangs up cancels its request (MCP 2026-07-28, "Cancellation"), so the hang-up must arrive.
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) forwarded.destroy();
    });
    incoming.pipe(forwarded);
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
}
