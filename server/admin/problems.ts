/** What a person sees where nothing is, or something broke; programs get the answers they always got. */
import type { ErrorRequestHandler, Request, RequestHandler, Response } from "express";
import type { Log } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import { refuse } from "../mcp/http.ts";
import type { Pages } from "./pages.ts";

/** Answers what no route answered. */
export function serveNotFound({ pages }: { pages: Pages }): RequestHandler {
  return (request, response) => {
    if (!wantsPage(request)) return refuse(response, "not_found");
    pages.renderMessage(response, {
      status: 404,
      title: "There is nothing at this address",
      text: "The page was moved, or the address has a typing error.",
      action: { label: "Go to the start page", href: "/" },
    });
  };
}

/** Answers what a route threw. The reason goes to the log only. */
export function serveFailure({ pages, log }: { pages: Pages; log: Log }): ErrorRequestHandler {
  return (error: unknown, request: Request, response: Response, _next) => {
    const status = statusOf(error);
    if (status >= 500) log.error({ error }, "a page failed");
    if (response.headersSent) return void response.destroy();
    if (!wantsPage(request)) {
      response.status(status).json({ error: status >= 500 ? "internal" : "invalid_request" });
      return;
    }
    const known = error instanceof JackfieldError ? error.message : undefined;
    const told = status >= 500 ? FAILED : REFUSED;
    const action = { label: "Go to the start page", href: "/" };
    pages.renderMessage(response, { status, ...told, ...(known === undefined ? {} : { text: known }), action });
  };
}

const FAILED = {
  title: "This did not work",
  text: "Something broke on the server. Its log says what; try again later.",
};
const REFUSED = { title: "This request was not understood", text: "It is too large or not in the form of our pages." };

/** Browsers name text/html; clients of MCP and programs do not. */
function wantsPage(request: Request): boolean {
  return /\btext\/html\b/.test(request.get("accept") ?? "");
}

/** The body parser's errors carry a status of their own. */
function statusOf(error: unknown): number {
  const status: unknown = error instanceof Error && "status" in error ? error.status : undefined;
  return typeof status === "number" && status >= 400 && status < 600 ? status : 500;
}
