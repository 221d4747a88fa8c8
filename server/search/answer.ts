/**
 * The answer of `tool_search` under its budget: 24 KiB for the whole result, whatever the schemas hold. Definitions
 * that do not fit become signatures; hits that still do not fit are left to the next page. The text twin is a compact
 * list with signatures, never the same JSON again, because some hosts show a model both.
 */
import type { JsonObject } from "../../adapters/contract.ts";
import { cutText, firstSentence, signatureOf, trimDescription, trimSchema } from "./render.ts";

export const MAX_ANSWER_BYTES = 24 * 1024;
const MAX_TEXT_BYTES = 5 * 1024;
/** A definition longer than this (about 1,500 tokens) is shown as a signature; `select:` fetches it. */
const MAX_DEFINITION_BYTES = 6 * 1024;

/** How much of a tool is shown, most first. */
export type Detail = "whole" | "definition" | "signature" | "name";
const LESS: Record<Detail, Detail | undefined> = {
  whole: "definition",
  definition: "signature",
  signature: "name",
  name: undefined,
};

export interface AnswerTool {
  readonly name: string;
  readonly connection: string;
  readonly action: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** What the policy asks of the arguments; never cut off with the description. */
  readonly conditions?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly access: "read" | "write";
  readonly approval: "none" | "required";
  readonly state: "active" | "available" | "needsAuthorization";
  /** 0 to 1; absent where nothing was ranked. */
  readonly score?: number | undefined;
  readonly why?: readonly string[] | undefined;
  /** Number of the sub-query it serves, where there are several. */
  readonly query?: number | undefined;
  /** Names of the same tool at sibling connections. */
  readonly alsoIn?: readonly string[] | undefined;
  readonly detail: Detail;
}

export interface AnswerParts {
  readonly tools: readonly AnswerTool[];
  readonly confidence: "high" | "low" | "none";
  readonly unmatchedTerms: readonly string[];
  readonly total: number;
  /** The cursor after `shown` of the tools; undefined where nothing is left. */
  readonly cursorAfter: (shown: number) => string | undefined;
  readonly connections: readonly JsonObject[];
  readonly notFound?: readonly { name: string; nearest: readonly string[] }[];
  readonly hint?: string | undefined;
  /** Bytes that the tools should take together; beyond it all but the first show less. Absent: as asked for. */
  readonly target?: number | undefined;
}

export interface Answer {
  /** A CallToolResult. */
  readonly result: JsonObject;
  /** The tools that are shown, with the detail that fitted. */
  readonly shown: readonly AnswerTool[];
}

/** Renders the parts; drops detail from the end until the result fits. */
export function composeAnswer(parts: AnswerParts): Answer {
  const tools = fitTarget(parts.tools.map(fitDefinition), parts.target);
  for (;;) {
    const result = toResult(parts, tools);
    if (byteLength(JSON.stringify(result)) <= MAX_ANSWER_BYTES) return { result, shown: tools };
    if (!reduce(tools)) return { result: toResult({ ...parts, connections: [] }, tools), shown: tools };
  }
}

/** A definition that is too long by itself starts as what does fit. */
function fitDefinition(tool: AnswerTool): AnswerTool {
  const most = tool.detail === "whole" ? MAX_ANSWER_BYTES - 4096 : MAX_DEFINITION_BYTES;
  if (tool.detail !== "whole" && tool.detail !== "definition") return tool;
  if (byteLength(JSON.stringify(toHit(tool))) <= most) return tool;
  return fitDefinition({ ...tool, detail: LESS[tool.detail]! });
}

/** Gives detail from the first tool on while the target lasts; the first one always shows what was asked for. */
function fitTarget(tools: readonly AnswerTool[], target: number | undefined): AnswerTool[] {
  if (target === undefined) return [...tools];
  const bytes = (tool: AnswerTool) => byteLength(JSON.stringify(toHit(tool)));
  const least = tools.map((tool) => bytes({ ...tool, detail: "name" }));
  let used = least.reduce((sum, size) => sum + size, 0);
  return tools.map((tool, at) => {
    for (let detail: Detail | undefined = tool.detail; detail !== undefined; detail = LESS[detail]) {
      const candidate = { ...tool, detail };
      const cost = bytes(candidate) - least[at]!;
      if (at > 0 && used + cost > target) continue;
      used += cost;
      return candidate;
    }
    return { ...tool, detail: "name" };
  });
}

/** Takes one step back: the richest of the tools, the last of them, shows less; then the last one goes. */
function reduce(tools: AnswerTool[]): boolean {
  for (const detail of ["whole", "definition", "signature"] as const) {
    const at = tools.findLastIndex((tool) => tool.detail === detail);
    if (at < 0 || (detail === "signature" && tools.length > 1)) continue;
    tools[at] = { ...tools[at]!, detail: LESS[detail]! };
    return true;
  }
  if (tools.length <= 1) return false;
  tools.pop();
  return true;
}

function toHit(tool: AnswerTool): JsonObject {
  const full = tool.detail === "whole" || tool.detail === "definition";
  const description = tool.description ?? "";
  let shown = "";
  if (tool.detail === "whole") shown = description;
  else if (tool.detail === "definition") shown = trimDescription(description);
  else if (tool.detail === "signature") shown = firstSentence(description);
  if (tool.conditions !== undefined && tool.detail !== "name") {
    shown = shown === "" ? tool.conditions : `${shown}\n${tool.conditions}`;
  }
  return {
    name: tool.name,
    connection: tool.connection,
    action: tool.action,
    ...(full && tool.title && addsWords(tool.title, tool.action) ? { title: cutText(tool.title, 120) } : {}),
    ...(shown === "" ? {} : { description: shown }),
    ...(full ? { inputSchema: tool.detail === "whole" ? tool.inputSchema : trimSchema(tool.inputSchema) } : {}),
    ...(tool.detail === "whole" && tool.outputSchema ? { outputSchema: tool.outputSchema } : {}),
    ...(tool.detail === "signature" ? { signature: signatureOf(tool.inputSchema) } : {}),
    access: tool.access,
    ...(tool.approval === "required" ? { approval: "required" } : {}),
    ...(tool.state === "available" ? {} : { state: tool.state }),
    ...(tool.score === undefined ? {} : { score: Math.round(tool.score * 100) / 100 }),
    ...(tool.why && tool.why.length > 0 ? { why: tool.why.slice(0, 6) } : {}),
    ...(tool.query === undefined ? {} : { query: tool.query }),
    ...(tool.alsoIn && tool.alsoIn.length > 0 ? { alsoIn: tool.alsoIn.slice(0, 5) } : {}),
  };
}

function toResult(parts: AnswerParts, tools: readonly AnswerTool[]): JsonObject {
  const nextCursor = parts.cursorAfter(tools.length);
  const notFound = parts.notFound ?? [];
  const structured: JsonObject = {
    tools: tools.map(toHit),
    confidence: parts.confidence,
    ...(parts.unmatchedTerms.length > 0 ? { unmatchedTerms: parts.unmatchedTerms.slice(0, 12) } : {}),
    total: parts.total,
    ...(nextCursor === undefined ? {} : { nextCursor }),
    ...(notFound.length > 0 ? { notFound } : {}),
    ...(parts.connections.length > 0 ? { connections: parts.connections } : {}),
    ...(parts.hint === undefined ? {} : { hint: parts.hint }),
  };
  return { content: [{ type: "text", text: toText(parts, tools) }], structuredContent: structured };
}

function toText(parts: AnswerParts, tools: readonly AnswerTool[]): string {
  const lines = tools.map((tool) => {
    const notes = [
      tool.access,
      tool.approval === "required" ? "approval" : "",
      tool.state === "available" ? "" : tool.state,
    ];
    const sentence = firstSentence(tool.description ?? "");
    const call = tool.detail === "name" ? "" : signatureOf(tool.inputSchema);
    return `${tool.name}${call} [${notes.filter(Boolean).join(", ")}]${sentence ? ` ${sentence}` : ""}`;
  });
  for (const { name, nearest } of parts.notFound ?? []) {
    lines.push(`Not found: ${name}${nearest.length > 0 ? `; nearest: ${nearest.join(", ")}` : ""}`);
  }
  if (tools.length === 0 && (parts.notFound ?? []).length === 0) lines.push("No tools found.");
  if (parts.confidence === "low") lines.push("Low confidence.");
  for (const connection of parts.connections) {
    const { id, state, tools: count, error } = connection;
    lines.push(`Connection ${id}: ${state}, ${count} tools${typeof error === "string" ? ` (${error})` : ""}`);
  }
  if (parts.hint !== undefined) lines.push(parts.hint);
  let text = "";
  for (const line of lines) {
    if (byteLength(text) + byteLength(line) > MAX_TEXT_BYTES) return `${text}…\n`.trimEnd();
    text += `${line}\n`;
  }
  return text.trimEnd();
}

/** Whether a title says more than the action's name does. */
function addsWords(title: string, action: string): boolean {
  const letters = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  return !letters(action).includes(letters(title));
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}
