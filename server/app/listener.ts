/**
 * The one listener of the product. Its end waits for answers that are being written and for nothing else: Node's own
 * `close` waits for every connection, also for one on which its client never sent anything, as SDKs open after a
 * request that they gave up.
 */
import { createServer, type RequestListener } from "node:http";
import type { Socket } from "node:net";
import type { Config } from "../config.ts";

/** Idle keep-alive connections are kept longer than common load balancers keep theirs (60 s). */
const KEEP_ALIVE_MS = 75_000;

export interface Listener {
  /** Rejects with node's own error (`EADDRINUSE`, `EACCES`) where it cannot. */
  listen(): Promise<{ address: string; port: number }>;
  /**
   * Takes no connection more and ends those without an answer under way, the others when theirs is written.
   * Resolves when the last one is gone; what is left after `withinMs` milliseconds is cut.
   */
  stop(withinMs: number): Promise<void>;
}

export function createListener({ host, port }: Pick<Config, "host" | "port">, serve: RequestListener): Listener {
  /** Answers under way on each open connection. */
  const open = new Map<Socket, number>();
  let stopping = false;
  const http = createServer();
  http.keepAliveTimeout = KEEP_ALIVE_MS;
  http.headersTimeout = KEEP_ALIVE_MS + 1_000;

  const endWhereIdle = (socket: Socket): void => {
    // What was written before is sent first.
    if (open.get(socket) === 0) socket.destroySoon();
  };
  http.on("connection", (socket) => {
    open.set(socket, 0);
    socket.once("close", () => open.delete(socket));
    if (stopping) endWhereIdle(socket);
  });
  http.on("request", (request, response) => {
    const { socket } = request;
    open.set(socket, (open.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const left = open.get(socket);
      if (left === undefined) return;
      open.set(socket, left - 1);
      if (stopping) endWhereIdle(socket);
    });
    serve(request, response);
  });

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        http.once("error", reject);
        http.listen(port, host, () => {
          http.removeListener("error", reject);
          const address = http.address();
          if (typeof address === "object" && address) resolve(address);
        });
      }),
    async stop(withinMs) {
      stopping = true;
      if (!http.listening) return;
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      for (const socket of open.keys()) endWhereIdle(socket);
      const late = setTimeout(() => {
        for (const socket of open.keys()) socket.destroy();
      }, withinMs);
      await closed;
      clearTimeout(late);
    },
  };
}
