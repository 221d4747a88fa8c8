/** What a person reads where a browser lands on an error of the authorization server that no client may receive. */
import type { Message } from "../admin/pages.ts";

export interface OAuthError {
  readonly error: string;
  readonly error_description?: string | undefined;
}

/** @param clientId as the request named it, if it did */
export function errorMessage({ error, error_description }: OAuthError, status: number, clientId: string): Message {
  const details = [
    { label: "Error", text: error },
    ...(error_description === undefined ? [] : [{ label: "Reason", text: error_description }]),
  ];
  if (error.startsWith("invalid_client") && clientId.startsWith("https://")) {
    return {
      status,
      title: "This client could not be identified",
      text: `It says that ${hostOf(clientId)} vouches for it, but this server could not read the document there, or cannot use it. Try again in a minute. If that does not help, tell the operator of this server.`,
      details,
    };
  }
  if (error === "invalid_client") {
    return {
      status,
      title: "This client is not known here any more",
      text: "Registrations that nobody uses are forgotten. Remove this server from your client and add it again; the client then registers anew.",
      details,
    };
  }
  if (error === "invalid_redirect_uri") {
    return {
      status,
      title: "This client asks for the answer at another address",
      text: "It did not register that address, so nothing was sent there. Remove this server from your client and add it again. If you did not start this yourself, close the page.",
      details,
    };
  }
  return {
    status,
    title: "This sign-in cannot go on",
    text: "It is too old, was finished already, or started in another browser. Go back to your client and start again.",
    details,
  };
}

/** Too many requests. */
export function waitMessage(retryAfterMs: number): Message {
  const minutes = Math.ceil(retryAfterMs / 60_000);
  const wait = minutes === 1 ? "a minute" : `${minutes} minutes`;
  return {
    status: 429,
    title: "Too many sign-ins from this network",
    text: `Wait ${wait}, then start again in your client.`,
  };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "its address";
}
