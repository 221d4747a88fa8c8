/**
 * Reads what token endpoints answer. Most send JSON as RFC 6749, 5.1 says; GitHub sends a form unless asked, and
 * errors with status 200; Slack wraps a user's token; old Microsoft endpoints send numbers as text.
 */
import { bounded } from "./problem.ts";
import type { Tokens } from "./types.ts";

/** Characters of an answer that are read at all. */
const MAX_ANSWER = 64 * 1024;
/** A token is a header value; what is longer is none. */
const MAX_TOKEN = 16 * 1024;
/** Seconds; longer lives are cut, since dates have an end. */
const MAX_LIFE = 10 * 365 * 24 * 3600;

/** What an answer says. `error` is the code of RFC 6749, 5.2, or what the provider has in its place. */
export type TokenAnswer =
  | { kind: "tokens"; tokens: Tokens; data: Record<string, unknown> }
  | { kind: "error"; error: string; description: string }
  | { kind: "unreadable"; why: string };

/** Reads the body of an answer, whatever its status. */
export function readTokenAnswer(body: string, contentType: string | null): TokenAnswer {
  if (body.length > MAX_ANSWER) return { kind: "unreadable", why: "the answer is too large" };
  const members = membersOf(body, contentType);
  if (!members) return { kind: "unreadable", why: "the answer is neither JSON nor a form" };
  const error = text(members["error"]) ?? text(object(members["error"])?.["code"]);
  if (error !== undefined || members["ok"] === false) {
    const description = text(members["error_description"]) ?? text(object(members["error"])?.["message"]) ?? "";
    return { kind: "error", error: bounded(error ?? "unknown_error", 100), description: bounded(description) };
  }
  // Slack: with user scopes alone the token stands under `authed_user`.
  const holder = text(members["access_token"]) === undefined ? (object(members["authed_user"]) ?? members) : members;
  const accessToken = text(holder["access_token"]);
  if (accessToken === undefined) return { kind: "unreadable", why: "the answer holds no access token" };
  if (!isToken(accessToken)) return { kind: "unreadable", why: "the access token cannot be sent in a header" };
  const type = text(holder["token_type"])?.toLowerCase();
  if (type === "mac" || type === "dpop") return { kind: "unreadable", why: `tokens of type ${type} are not supported` };
  const refreshToken = text(holder["refresh_token"]);
  const expiresIn = seconds(holder["expires_in"]);
  const scope = scopes(holder["scope"] ?? holder["scopes"]);
  return {
    kind: "tokens",
    tokens: {
      accessToken,
      ...(refreshToken === undefined || refreshToken.length > MAX_TOKEN ? {} : { refreshToken }),
      ...(expiresIn === undefined ? {} : { expiresIn }),
      ...(scope === undefined ? {} : { scope }),
    },
    data: withoutOwnTokens(members, 0),
  };
}

/** What a piece may see of an answer: nothing that gets new tokens, nothing that says to others who somebody is. */
function withoutOwnTokens(members: Record<string, unknown>, depth: number): Record<string, unknown> {
  const kept = Object.entries(members).filter(([name]) => !/^(?:refresh_token|id_token)/i.test(name));
  return Object.fromEntries(
    kept.map(([name, value]) => {
      const inner = depth < 8 ? object(value) : undefined;
      return [name, inner === undefined ? value : withoutOwnTokens(inner, depth + 1)];
    }),
  );
}

function membersOf(body: string, contentType: string | null): Record<string, unknown> | undefined {
  const trimmed = body.trim();
  if (trimmed.startsWith("{")) {
    try {
      return object(JSON.parse(trimmed));
    } catch {
      return undefined;
    }
  }
  const isForm = contentType?.toLowerCase().includes("x-www-form-urlencoded") || /^[\w.-]+=[^<>\s]*$/.test(trimmed);
  return isForm ? Object.fromEntries(new URLSearchParams(trimmed)) : undefined;
}

/** Seconds as a number or as text; zero, which some send for "never", and nonsense are as if not there. */
function seconds(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number) || number <= 0) return undefined;
  return Math.min(number, MAX_LIFE);
}

/** Space-separated; GitHub and Slack separate with commas, some send a list. */
function scopes(value: unknown): string | undefined {
  const list = Array.isArray(value) ? value.filter((item) => typeof item === "string") : [value];
  const words = list.flatMap((item) => (typeof item === "string" ? item.split(/[\s,]+/) : [])).filter((word) => word);
  return words.length === 0 ? undefined : words.join(" ").slice(0, 4000);
}

/** RFC 6750, 2.1 and a bit more: visible ASCII, so that it cannot break out of its header. */
function isToken(token: string): boolean {
  return token.length <= MAX_TOKEN && /^[\x21-\x7e]+$/.test(token);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function object(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}
