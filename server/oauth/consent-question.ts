/** What the consent page asks, made of what the client sent and what we know. Pure. */
import type { Scope } from "../people/principal.ts";
import { type Redirect, readRedirect } from "./redirects.ts";
import { SCOPE_WORDS } from "./scopes.ts";

export interface AskingClient {
  readonly clientId: string;
  /** As it claims it; undefined where it claims none. */
  readonly name: string | undefined;
  readonly native: boolean;
  /** Its id is a metadata document: the host vouches for the name. */
  readonly document: boolean;
  readonly registeredAt: Date | undefined;
}

/** Tools behind a scope, for people to know what they allow. */
export interface ToolCounts {
  readonly read: number;
  readonly write: number;
  /** Of the writing ones, how many ask a person each time. */
  readonly asking: number;
}

export interface ConsentQuestionView {
  readonly clientName: string;
  /** Host of the metadata document. */
  readonly clientHost: string | undefined;
  readonly clientNote: string;
  readonly redirectUri: string;
  readonly scopes: readonly {
    scope: Scope;
    title: string;
    text: string;
    badge: "read" | "write" | undefined;
    checked: boolean;
  }[];
  readonly warning: string;
}

/** Describes the question. */
export function describeQuestion(
  client: AskingClient,
  redirectUri: string,
  scopes: readonly Scope[],
  counts: ToolCounts,
  organization: string,
  now: number,
): ConsentQuestionView {
  const host = client.document ? new URL(client.clientId).host : undefined;
  return {
    clientName: client.name ?? "A client without a name",
    clientHost: host,
    clientNote: host === undefined ? `Registered itself ${ago(client.registeredAt, now)}` : `Identified by ${host}`,
    redirectUri,
    scopes: scopes.map((scope) => ({
      scope,
      title: SCOPE_WORDS[scope].title,
      text: textOf(scope, counts),
      badge: scope === "mcp:read" ? "read" : scope === "mcp:write" ? "write" : undefined,
      // What a client does not need from the start is for the person to add.
      checked: scope !== "mcp:pair" || scopes.length === 1,
    })),
    warning: warningOf(client, readRedirect(redirectUri), organization),
  };
}

function textOf(scope: Scope, { read, write, asking }: ToolCounts): string {
  if (scope === "mcp:pair" || (scope === "mcp:read" ? read : write) === 0) return SCOPE_WORDS[scope].text;
  if (scope === "mcp:read") return `Find tools and call the ${read} that only read`;
  const ask = asking === 0 ? "" : `. ${asking} of them ask a person each time`;
  return `Call ${write} ${write === 1 ? "tool that writes" : "tools that write"}${ask}`;
}

const ONLY_IF = "Allow it only if you started this yourself, just now.";

function warningOf(client: AskingClient, redirect: Redirect | { problem: string }, organization: string): string {
  if (!("problem" in redirect) && redirect.kind === "loopback") {
    return `The answer goes to a program on the computer that this browser runs on (${redirect.target}). Any program there could have asked. ${ONLY_IF}`;
  }
  if (!("problem" in redirect) && redirect.kind === "scheme") {
    return `The answer goes to whichever program on this device opens ${redirect.target} links. ${ONLY_IF}`;
  }
  if (client.document) return `Check that ${new URL(client.clientId).host} is whom you expect. ${ONLY_IF}`;
  return `Nobody at ${organization} has reviewed this client. ${ONLY_IF}`;
}

function ago(at: Date | undefined, now: number): string {
  if (at === undefined) return "at an unknown time";
  const days = Math.floor((now - at.getTime()) / 86_400_000);
  if (days < 1) return "today";
  return days === 1 ? "yesterday" : `${days} days ago`;
}
