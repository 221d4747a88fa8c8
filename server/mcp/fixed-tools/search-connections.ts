/** What `tool_search` says about connections: which are meant, how they are, and an overview. */
import type { JsonObject } from "../../../adapters/contract.ts";
import { cutText } from "../../search/render.ts";
import { isStopWord, splitWords, stem } from "../../search/tokenize.ts";
import type { ToolsetView, VisibleConnectionView } from "./tool-search.ts";

const MAX_TROUBLED = 8;
export const MAX_OVERVIEW = 200;

/**
 * The slugs that a `connection` filter means: ids, labels and aliases, else prefixes of ids. `unknown` holds the first
 * one that means nothing, with close ids.
 */
export function selectConnections(
  toolset: ToolsetView,
  wanted: readonly string[],
): { slugs: Set<string> } | { unknown: string; close: string[] } {
  const slugs = new Set<string>();
  for (const want of wanted) {
    const key = keyOf(want);
    const named = toolset.connections.filter(
      ({ slug, label, aliases }) => keyOf(slug) === key || [label, ...aliases].some((name) => keyOf(name) === key),
    );
    const found =
      named.length > 0 ? named : toolset.connections.filter(({ slug }) => key && keyOf(slug).startsWith(key));
    if (found.length === 0) return { unknown: cutText(want, 80), close: closeConnections(toolset, key) };
    for (const { slug } of found) slugs.add(slug);
  }
  return { slugs };
}

function keyOf(name: string): string {
  return splitWords(name).join("-");
}

/** At most six ids that share a word or most of their letter pairs with a wrong one. */
function closeConnections(toolset: ToolsetView, key: string): string[] {
  const pairs = (text: string) => new Set([...text].slice(1).map((c, at) => [...text][at] + c));
  const wanted = pairs(key);
  const likeness = ({ slug, label }: VisibleConnectionView) => {
    const own = new Set([...pairs(keyOf(slug)), ...pairs(keyOf(label))]);
    const common = [...wanted].filter((pair) => own.has(pair)).length;
    return common / Math.max(1, Math.min(wanted.size, own.size));
  };
  return toolset.connections
    .map((connection) => ({ slug: connection.slug, likeness: likeness(connection) }))
    .filter((candidate) => candidate.likeness >= 0.4)
    .sort((a, b) => b.likeness - a.likeness || (a.slug < b.slug ? -1 : 1))
    .slice(0, 6)
    .map(({ slug }) => slug);
}

/** One connection as an answer shows it. */
export function connectionEntry({ slug, label, state, tools, error, signInUrl }: VisibleConnectionView): JsonObject {
  return {
    id: slug,
    ...(keyOf(label) === keyOf(slug) ? {} : { title: cutText(label, 60) }),
    state,
    tools,
    ...(state === "needsAuthorization" ? { needsAuthorization: true } : {}),
    ...(signInUrl === undefined ? {} : { consentUrl: signInUrl }),
    ...(state === "requiresPrivateAudience" ? { requiresPrivateAudience: true } : {}),
    ...(error === undefined ? {} : { error: cutText(`${error.code}: ${error.message}`, 240) }),
  };
}

/**
 * Connections that are not well among those that were searched, those that the queries name first; a few at most, the
 * rest as a number.
 */
export function troubledConnections(
  toolset: ToolsetView,
  searched: (slug: string) => boolean,
  queries: readonly string[],
): { entries: JsonObject[]; more: number } {
  const terms = new Set(
    queries
      .flatMap(splitWords)
      .filter((word) => !isStopWord(word))
      .map(stem),
  );
  const named = ({ slug, label, aliases }: VisibleConnectionView) =>
    [slug, label, ...aliases].some((name) => splitWords(name).some((word) => terms.has(stem(word))));
  const troubled = toolset.connections.filter(({ slug, state }) => state !== "ok" && searched(slug));
  const ordered = [...troubled.filter(named), ...troubled.filter((connection) => !named(connection))];
  return {
    entries: ordered.slice(0, MAX_TROUBLED).map(connectionEntry),
    more: Math.max(0, ordered.length - MAX_TROUBLED),
  };
}

/** The largest connections in one bounded line: `github (117), slack (12), and 9 more`. */
export function connectionsLine(toolset: ToolsetView, mostCharacters: number): string {
  const usable = toolset.connections.filter(({ state, tools }) => state === "ok" && tools > 0);
  const ordered = usable.toSorted((a, b) => b.tools - a.tools || (a.slug < b.slug ? -1 : 1));
  let line = "";
  for (const [at, { slug, tools }] of ordered.entries()) {
    const part = `${at > 0 ? ", " : ""}${slug} (${tools})`;
    if (line.length + part.length > mostCharacters) return `${line} and ${ordered.length - at} more`;
    line += part;
  }
  return line;
}
