/** What signing in upstream needs of the pages, which stand above it. */
import type { Request, Response } from "express";
import type { SignedIn } from "../people/web-sessions.ts";

export interface SignInPage {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

export interface SignInPages {
  personOf(request: Request): Promise<SignedIn | undefined>;
  /** The same; where nobody is signed in, the way to the sign-in page and back has been sent. */
  requirePerson(request: Request, response: Response): Promise<SignedIn | undefined>;
  show(response: Response, page: SignInPage): void;
  /** Sends the browser on with a GET, here or elsewhere. */
  redirect(response: Response, url: string): void;
  /** The value of the cookie that marks this browser during a sign-in. */
  browserOf(request: Request): string | undefined;
  /** Marks this browser, for as long as an attempt lives. */
  markBrowser(response: Response, value: string): void;
}
