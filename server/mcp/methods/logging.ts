/** `logging/setLevel` of a legacy session: only where the upstream's messages pass (transparent endpoints). */
import type { Server } from "@modelcontextprotocol/server";
import { callerOf, type Face, type SessionView } from "../face.ts";

/** Sets the handler of the log level on one server object. */
export function serveLogging(face: Face, server: Server, session: SessionView): void {
  server.setRequestHandler("logging/setLevel", async (request, ctx) => {
    const caller = callerOf(ctx);
    const { level } = request.params;
    session.rememberLogLevel(level);
    for (const connection of caller.toolset.served.values()) {
      await face.gateway.sessions.use(connection, caller.principal.key, async (upstream) => {
        await upstream.setLogLevel?.(level, { key: `session:${session.id}`, capabilities: {} });
      });
    }
    return {};
  });
}
