/** The one listener of the product. */
import { createServer, type RequestListener } from "node:http";
import type { Config } from "../config.ts";

const FREED_EVERY_MS = 50;
/** Idle keep-alive connections are kept longer than common load balancers keep theirs (60 s). */
const KEEP_ALIVE_MS = 75_000;

export interface Listener {
  /** Rejects with node's own error (`EADDRINUSE`, `EACCES`) where it cannot. */
  listen(): Promise<{ address: string; port: number }>;
  /** Takes no connection more; those in use go on. */
  stop(): void;
  /** Resolves when the last connection ended. */
  closed(): Promise<void>;
}

export function createListener({ host, port }: Pick<Config, "host" | "port">, serve: RequestListener): Listener {
  const http = createServer(serve);
  http.keepAliveTimeout = KEEP_ALIVE_MS;
  http.headersTimeout = KEEP_ALIVE_MS + 1_000;
  let ended: Promise<void> = Promise.resolve();
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
    stop() {
      if (http.listening) ended = new Promise<void>((resolve) => http.close(() => resolve()));
      http.closeIdleConnections();
    },
    async closed() {
      // A client's connection that was just freed would hold the listener for as long as the client keeps it.
      const freed = setInterval(() => http.closeIdleConnections(), FREED_EVERY_MS);
      await ended;
      clearInterval(freed);
    },
  };
}
