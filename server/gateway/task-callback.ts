/**
 * `POST /tasks/callback/<handle>`: an upstream says that a task of ours went on (A2A push notifications). Whoever waits
 * for the task asks the upstream itself then; what stands in the body is not looked at.
 */
import type { Request, RequestHandler, Response } from "express";
import type { TaskDesks } from "./task-desk.ts";

/** Bytes of a body that are taken off the wire and thrown away; a sender of more is cut off. */
const MAX_BODY = 4 * 1024 * 1024;

export function serveTaskCallback(tasks: Pick<TaskDesks, "tell">): RequestHandler {
  return async (request: Request, response: Response) => {
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY) request.destroy();
    });
    const { handle } = request.params;
    const secret = secretOf(request);
    const known = typeof handle === "string" && secret !== undefined && (await tasks.tell(handle, secret));
    response.status(known ? 204 : 404).end();
  };
}

/** A2A 1.0, 4.3.3: what we asked for as `authentication`; agents of 0.3 may send the `token` alone. */
function secretOf(request: Request): string | undefined {
  const bearer = /^Bearer ([\w-]{1,200})$/i.exec(request.get("authorization") ?? "")?.[1];
  const token = request.get("x-a2a-notification-token");
  return bearer ?? (token !== undefined && token.length <= 200 ? token : undefined);
}
