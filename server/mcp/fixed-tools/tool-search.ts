/**
 * `tool_search`: finds tools in what is stored, for one caller. It never waits for an upstream, and it knows nothing
 * but the caller's own toolset, so an answer cannot depend on what the caller may not see.
 */
import type { JsonObject, ToolDefinition } from "../../../adapters/contract.ts";
import { type AnswerTool, composeAnswer, type Detail } from "../../search/answer.ts";
import type { Confidence, Judgement } from "../../search/confidence.ts";
import type { SearchIndex } from "../../search/index.ts";
import { rank } from "../../search/rank.ts";
import { bestConfidence, rankTask, type TaskHit, type TaskRanking } from "../../search/task.ts";
import { MAX_LIMIT, readArguments, readCursor, type SearchArguments, writeCursor } from "./search-arguments.ts";
import {
  connectionEntry,
  connectionsLine,
  MAX_OVERVIEW,
  selectConnections,
  troubledConnections,
} from "./search-connections.ts";

export { toolSearchDefinition } from "./tool-search-definition.ts";

/** What the search needs from a toolset; `Toolset` of the gateway is one. */
export interface ToolsetView {
  readonly revision: string;
  readonly byName: ReadonlyMap<string, SearchedTool>;
  readonly byAction: ReadonlyMap<string, readonly SearchedTool[]>;
  readonly connections: readonly VisibleConnectionView[];
  /** `<connection>__pair` where a connection can be paired: found like a tool, never activated. */
  readonly pairing?: ReadonlyMap<string, SearchedTool>;
  index(): SearchIndex;
}

export interface SearchedTool {
  readonly name: string;
  readonly action: string;
  readonly class: "read" | "write";
  readonly approval: "none" | "required";
  readonly connection: { readonly slug: string };
  readonly tool: { readonly state: string; readonly definition: ToolDefinition };
  readonly listed: ToolDefinition;
  /** What the policy asks of the arguments, in words. */
  readonly conditions?: string;
}

export interface VisibleConnectionView {
  readonly slug: string;
  readonly label: string;
  readonly aliases: readonly string[];
  readonly state: "ok" | "loading" | "failed" | "needsAuthorization" | "requiresPrivateAudience" | "disabled";
  readonly tools: number;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** Where the caller can sign in, if that is what is missing. */
  readonly signInUrl?: string | undefined;
}

export interface SearchContext {
  readonly toolset: ToolsetView;
  /** Names of the tools that are activated for this caller. */
  readonly active: ReadonlySet<string>;
  /** Whether the endpoint activates what is found. */
  readonly activation: boolean;
}

export interface SearchOutcome {
  /** A CallToolResult. */
  readonly result: JsonObject;
  /** Names to activate, in order; the ones that are shown in full and can be trusted. */
  readonly activate: string[];
}

const DEFAULT_LIMIT = 5;
const FULL_BY_DEFAULT = 3;
const SIGNATURES_BY_DEFAULT = 8;
/** Bytes of the tools at default detail: about 450 tokens, and more for each further sub-query. */
const TARGET_BYTES = 1800;
const TARGET_BYTES_PER_QUERY = 350;
const RANKED = 100;

/** Answers one call. Wrong arguments are a result with `isError`, said so that a model can correct itself. */
export function answerToolSearch(args: unknown, context: SearchContext): SearchOutcome {
  const read = readArguments(args ?? {});
  if ("problem" in read) return refusal(read.problem);
  const selected = selectConnections(context.toolset, read.connections);
  if ("unknown" in selected) {
    const close = selected.close.length > 0 ? ` Close: ${selected.close.join(", ")}.` : "";
    const known = connectionsLine(context.toolset, 400);
    return refusal(`Unknown connection "${selected.unknown}".${close}${known ? ` Connected: ${known}.` : ""}`);
  }
  if (read.select !== undefined) return answerSelect(read.select, read.activate, context);
  if (read.queries.length === 0 && read.connections.length === 0) return answerOverview(context);
  return answerQueries(read, selected.slugs, context);
}

function refusal(text: string): SearchOutcome {
  return { result: { content: [{ type: "text", text }], isError: true }, activate: [] };
}

/** A tool that may be shown: reviewed, and of a connection that is not turned off. */
function searchable(toolset: ToolsetView, name: string): SearchedTool | undefined {
  const tool = toolset.byName.get(name) ?? toolset.pairing?.get(name);
  return tool !== undefined && tool.tool.state === "approved" ? tool : undefined;
}

function answerSelect(names: readonly string[], activate: boolean, context: SearchContext): SearchOutcome {
  const { toolset } = context;
  const states = statesOf(toolset);
  const found: SearchedTool[] = [];
  const notFound: { name: string; nearest: string[] }[] = [];
  for (const name of names) {
    const actions = toolset.byAction.get(name) ?? [];
    const tool =
      searchable(toolset, name) ?? (actions.length === 1 ? searchable(toolset, actions[0]!.name) : undefined);
    if (tool !== undefined && states.get(tool.connection.slug) !== "disabled") {
      if (!found.includes(tool)) found.push(tool);
      continue;
    }
    const index = toolset.index();
    const hits = actions.length > 1 ? [] : rank(index, name, { most: 3 }).hits;
    const nearest = [...actions.map((entry) => entry.name), ...hits.map((hit) => index.documents[hit.document]!.name)];
    notFound.push({ name, nearest: nearest.slice(0, 5) });
  }
  const tools = found.map((tool) => describe(tool, states, context, { detail: "whole" }));
  const { result, shown } = composeAnswer({
    tools,
    confidence: tools.length > 0 ? "high" : "none",
    unmatchedTerms: [],
    total: tools.length,
    cursorAfter: () => undefined,
    connections: [],
    notFound,
    hint:
      tools.length > 1 && JSON.stringify(tools.map((tool) => tool.inputSchema)).length > 20_000
        ? "Definitions that did not fit are signatures; select one tool at a time for its whole definition."
        : undefined,
  });
  return { result, activate: activatable(shown, context, activate) };
}

function answerOverview({ toolset }: SearchContext): SearchOutcome {
  const listed = toolset.connections.slice(0, MAX_OVERVIEW);
  const rest = toolset.connections.length - listed.length;
  const { result } = composeAnswer({
    tools: [],
    confidence: "none",
    unmatchedTerms: [],
    total: toolset.connections.reduce((sum, connection) => sum + connection.tools, 0),
    cursorAfter: () => undefined,
    connections: listed.map(connectionEntry),
    hint: `${rest > 0 ? `${rest} more connections are not shown. ` : ""}Say what you need in query, or list one connection's tools with connection.`,
  });
  return { result, activate: [] };
}

function answerQueries(args: SearchArguments, slugs: ReadonlySet<string>, context: SearchContext): SearchOutcome {
  const { toolset } = context;
  const offset = args.cursor === undefined ? 0 : readCursor(args.cursor, args, toolset.revision);
  if (offset === undefined) {
    return refusal("This cursor belongs to another search or to an older catalogue; search again without it.");
  }
  const index = toolset.index();
  const states = statesOf(toolset);
  const searched = (slug: string) => (slugs.size === 0 || slugs.has(slug)) && states.get(slug) !== "disabled";
  const admits = (at: number) => {
    const document = index.documents[at]!;
    return searched(document.connection) && (args.access === undefined || document.access === args.access);
  };
  const listing = args.queries.length === 0;
  const { hits: candidates, judgements }: TaskRanking = listing
    ? { hits: listAll(index, admits), judgements: [] }
    : rankTask(index, args.queries, { admits, most: RANKED });
  const confidence: Confidence = candidates.length === 0 ? "none" : listing ? "high" : bestConfidence(judgements);

  const trouble = troubledConnections(toolset, (slug) => slugs.size === 0 || slugs.has(slug), args.queries);
  if (candidates.length === 0) {
    const failed = toolset.connections.filter(({ slug }) => slugs.size === 0 || slugs.has(slug));
    if (failed.length > 0 && failed.every(({ state }) => state === "failed")) return allFailed(failed);
  }
  const limit = args.limit ?? (listing ? MAX_LIMIT : DEFAULT_LIMIT);
  const page = candidates.slice(offset, offset + limit);
  const tools = page.map((candidate, at): AnswerTool => {
    const document = index.documents[candidate.hit.document]!;
    return describe(searchable(toolset, document.name)!, states, context, {
      detail: detailAt(args, listing, offset + at),
      ...(listing ? {} : { score: candidate.hit.score }),
      ...(args.detail === "full" ? { why: candidate.hit.matched } : {}),
      ...(args.queries.length > 1 ? { query: candidate.query } : {}),
      alsoIn: candidate.hit.alsoIn.map((other) => index.documents[other]!.name),
    });
  });
  const overview = candidates.length === 0 ? toolset.connections.filter(({ slug }) => searched(slug)).slice(0, 40) : [];
  const { result, shown } = composeAnswer({
    tools,
    confidence,
    unmatchedTerms: [...new Set(judgements.flatMap((judgement) => judgement.unmatchedTerms))],
    total: candidates.length,
    cursorAfter: (count) =>
      offset + count < candidates.length && count > 0 ? writeCursor(offset + count, args, toolset.revision) : undefined,
    connections: overview.length > 0 ? overview.map(connectionEntry) : trouble.entries,
    target:
      args.detail === undefined
        ? TARGET_BYTES + TARGET_BYTES_PER_QUERY * Math.max(0, args.queries.length - 1)
        : undefined,
    hint: hintFor(confidence, judgements, args, trouble.more),
  });
  const sure = new Set(judgements.flatMap(({ confidence: own }, at) => (own === "high" ? [at] : [])));
  const trusted = shown.filter((_, at) => !listing && sure.has(page[at]!.query));
  return { result, activate: activatable(trusted, context, args.activate) };
}

function listAll(index: SearchIndex, admits: (document: number) => boolean): TaskHit[] {
  return index.documents.flatMap((_, document) =>
    admits(document)
      ? [{ query: 0, hit: { document, score: 0, exact: false, matched: [], coverage: 0, alsoIn: [] } }]
      : [],
  );
}

function detailAt({ detail, queries }: SearchArguments, listing: boolean, position: number): Detail {
  if (detail === "names") return "name";
  if (detail === "signatures" || (detail === undefined && listing)) return "signature";
  if (detail === "full" || position < Math.max(FULL_BY_DEFAULT, queries.length)) return "definition";
  return position < SIGNATURES_BY_DEFAULT ? "signature" : "name";
}

function statesOf(toolset: ToolsetView): Map<string, VisibleConnectionView["state"]> {
  return new Map(toolset.connections.map(({ slug, state }) => [slug, state]));
}

function describe(
  entry: SearchedTool,
  states: ReadonlyMap<string, string>,
  { toolset, active, activation }: SearchContext,
  shown: Pick<AnswerTool, "detail" | "score" | "why" | "query" | "alsoIn">,
): AnswerTool {
  const { definition } = entry.tool;
  // Pairing is how a connection gets what it waits for.
  const pairs = toolset.pairing?.get(entry.name) === entry;
  const waiting = !pairs && states.get(entry.connection.slug) === "needsAuthorization";
  return {
    name: entry.name,
    connection: entry.connection.slug,
    action: entry.action,
    title: definition.title,
    description: definition.description,
    conditions: entry.conditions,
    inputSchema: entry.listed.inputSchema,
    outputSchema: definition.outputSchema,
    access: entry.class,
    approval: entry.approval,
    state: waiting ? "needsAuthorization" : activation && active.has(entry.name) ? "active" : "available",
    ...shown,
  };
}

function activatable(shown: readonly AnswerTool[], { toolset, activation }: SearchContext, wanted: boolean): string[] {
  if (!activation || !wanted) return [];
  return shown
    .filter(({ detail, state }) => (detail === "whole" || detail === "definition") && state !== "needsAuthorization")
    .filter(({ name }) => toolset.byName.has(name))
    .map(({ name }) => name);
}

function allFailed(failed: readonly VisibleConnectionView[]): SearchOutcome {
  const words = failed
    .slice(0, 20)
    .map(({ slug, error }) => `${slug}: ${error ? `${error.code}: ${error.message}` : "failed"}`);
  const rest = failed.length > words.length ? `\nand ${failed.length - words.length} more` : "";
  return refusal(`No tools could be loaded.\n${words.map((line) => line.slice(0, 400)).join("\n")}${rest}`);
}

function hintFor(
  confidence: Confidence,
  judgements: readonly Judgement[],
  args: SearchArguments,
  moreTrouble: number,
): string | undefined {
  const hints: string[] = [];
  const missing = judgements.find(({ missingApp }) => missingApp !== undefined)?.missingApp;
  if (missing !== undefined) hints.push(`No match belongs to "${missing}"; it may not be connected.`);
  if (confidence === "low" && missing === undefined) {
    hints.push("Weak matches: name the app and the action, one sub-query per step in queries.");
  }
  if (confidence === "none") {
    hints.push(
      args.connections.length > 0
        ? "Nothing matches in the selected connections: search without connection, or list one by leaving query out."
        : "Nothing matches: name the app and the action in plain English words.",
    );
  }
  if (moreTrouble > 0) hints.push(`${moreTrouble} more connections are not ready.`);
  return hints.length > 0 ? hints.join(" ") : undefined;
}
