/** `GET /health`: the process lives. `GET /ready`: it can serve. */
import type { Request, RequestHandler, Response } from "express";

export interface Readiness {
  /** Reasons why nothing should be sent here now; empty where ready. */
  problems(): Promise<string[]>;
}

/** Answers 200 as long as the event loop turns. */
export function serveHealth(_request: Request, response: Response): void {
  response.json({ status: "alive" });
}

/** Answers 200 where requests can be served, else 503 with the reasons. */
export function serveReady(readiness: Readiness): RequestHandler {
  return async (_request, response) => {
    const problems = await readiness.problems();
    response
      .status(problems.length === 0 ? 200 : 503)
      .json({ status: problems.length === 0 ? "ready" : "not ready", problems });
  };
}
