/** What every page needs: who is signed in, the form's token, the layout and its headers. */
import { join } from "node:path";
import { Eta } from "eta";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { FIRST_ORGANIZATION } from "../connections/files.ts";
import { type Origins, refusedHost } from "../mcp/origins.ts";
import { CSRF_FIELD, type Csrf } from "../people/csrf.ts";
import type { SignedIn, WebSessions } from "../people/web-sessions.ts";
import type { OrganizationRow } from "../store/models/organizations.ts";
import { setPageHeaders } from "./headers.ts";

export type View =
  | "account"
  | "approval"
  | "approvals"
  | "clients"
  | "consent"
  | "home"
  | "invite"
  | "member"
  | "members"
  | "message"
  | "password"
  | "setup"
  | "sign-in"
  | "sign-out"
  | "tokens";

export interface Page {
  /** Of the views, one file each in `views/`. */
  view: View;
  /** Stands in the tab. */
  title: string;
  /** What the view shows; escaped there. */
  data: object;
  /** Default 200. */
  status?: number;
  /** Whether the page needs more width than a form does. */
  wide?: boolean;
  /** Whether answers to the page's forms may redirect to another site; default `own`. */
  forms?: "own" | "away";
}

export interface Message {
  /** HTTP status; 200 for a good end. */
  status: number;
  /** The heading, as a sentence without a full stop. */
  title: string;
  /** What is, then what to do. Texts of others may stand in it: it is escaped. */
  text: string;
  /** Where to go on; `primary` unless it says otherwise. A path of our own or an https URL. */
  action?: { label: string; href: string };
  /** Small print in pairs, such as what another service said. */
  details?: readonly { label: string; text: string }[];
}

export interface Pages {
  /** Who is signed in at the browser of this request. */
  personOf(request: Request): Promise<SignedIn | undefined>;
  /** The same; where nobody is, the way to the sign-in page and back has been sent. */
  requirePerson(request: Request, response: Response): Promise<SignedIn | undefined>;
  /** Sends a page. */
  render(response: Response, page: Page): void;
  /** Sends a page that says one thing: the end of a flow, or what went wrong. */
  renderMessage(response: Response, message: Message): void;
  /** The token that a form of this browser carries in a field named `csrf`; sets its cookie where it has none. */
  csrfToken(request: Request, response: Response): string;
  /** Refuses hosts that are not served here. Stands before every page. */
  readonly guard: RequestHandler;
  /** Refuses forms that other pages sent. Stands behind the body parser of every form. */
  readonly checkForm: RequestHandler;
}

/** What may stand behind a button: a path of ours or a page of another site, never a script. */
const LINK = /^(?:\/(?!\/)|https?:\/\/)/;

export interface PagesOptions {
  sessions: WebSessions;
  csrf: Csrf;
  origins: Origins;
}

/** Makes what the pages share. */
export function createPages({ sessions, csrf, origins }: PagesOptions): Pages {
  const eta = new Eta({ views: join(import.meta.dirname, "views"), cache: true });

  function render(response: Response, { view, title, data, status = 200, forms = "own", wide = false }: Page): void {
    setPageHeaders(response, forms);
    const host = response.req.get("host") ?? "";
    response
      .status(status)
      .type("html")
      .send(eta.render(`./${view}`, { ...data, title, host, wide }));
  }

  function renderMessage(response: Response, { status, title, text, action, details }: Message): void {
    const data = { text, action: action !== undefined && LINK.test(action.href) ? action : undefined, details };
    render(response, { view: "message", title, status, data });
  }

  return {
    personOf: (request) => sessions.personOf(request),
    async requirePerson(request, response) {
      const person = await sessions.personOf(request);
      if (person !== undefined) return person;
      setPageHeaders(response, "own");
      // A form cannot be sent again from the sign-in page.
      const wanted = request.method === "GET" ? `?returnTo=${encodeURIComponent(request.originalUrl)}` : "";
      response.redirect(303, `/sign-in${wanted}`);
      return undefined;
    },
    render,
    renderMessage,
    csrfToken(request, response) {
      const { token, cookie } = csrf.tokenFor(request);
      if (cookie !== undefined) response.append("set-cookie", cookie);
      return token;
    },
    guard(request: Request, response: Response, next: NextFunction) {
      if (!refusedHost(origins, request)) return next();
      renderMessage(response, {
        status: 403,
        title: "This address is not served here",
        text: "Open the address that the server printed when it started, or the one its operator gave you.",
      });
    },
    checkForm(request: Request, response: Response, next: NextFunction) {
      if (csrf.accepts(request, fieldOf(request.body, CSRF_FIELD))) return next();
      renderMessage(response, {
        status: 403,
        title: "This form is too old",
        text: "Nothing was changed. It was shown before you signed in or out, or by another site. Open the page again and send it once more; cookies must be allowed.",
        action: { label: "Start again", href: request.method === "POST" ? request.path : "/" },
      });
    },
  };
}

/** How people read an organization; the first one is made without a name of its own. */
export function organizationLabel(row: Pick<OrganizationRow, "slug" | "name"> | null): string {
  return row === null || row.name === FIRST_ORGANIZATION ? "this server" : row.name;
}

/** The text of a form's field; empty where it was not sent, the first where it was sent twice. */
export function fieldOf(body: unknown, name: string): string {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, name)) return "";
  const value: unknown = Reflect.get(body, name);
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" ? first : "";
}
