/**
 * Without effects: what a freshly listed catalogue makes of the stored tools (design, section 7, Review).
 *
 * pending   new, and nothing that a person wrote covers it
 * approved  its definition is the one that was accepted
 * changed   it was accepted once, and is another one now
 * gone      the upstream does not list it any more; its name stays taken
 */
import type { ToolDefinition } from "../../adapters/contract.ts";
import { assignNames } from "../gateway/names.ts";
import type { ToolRow } from "../store/models/tools.ts";
import { cleanDefinition, type Finding } from "./clean-definition.ts";
import { digestOf } from "./digest.ts";
import { takeTurns } from "./turns.ts";

export interface ListedTool {
  upstreamName: string;
  definition: ToolDefinition;
  hash: string;
  findings: Finding[];
}

/** A stored tool. */
export interface KnownTool
  extends Pick<ToolRow, "upstreamName" | "name" | "position" | "hash" | "reviewedHash" | "state"> {
  /** The JSON of its definition. */
  definitionText: string;
}

export interface ToolChange {
  upstreamName: string;
  name: string;
  position: number;
  listed: ListedTool;
  state: "pending" | "approved" | "changed";
  /** The listed definition becomes the reviewed one. */
  reviewed: boolean;
}

export interface CatalogueDiff {
  added: ToolChange[];
  /** Listed again, and different from what is stored in any way. */
  updated: ToolChange[];
  /** Upstream names that are not listed any more. */
  gone: string[];
}

export interface ReviewRules {
  /** Whether the patterns of the connection's author name the tool. */
  named(upstreamName: string): boolean;
  /** The author trusts the upstream's own annotations at the first import of the connection. */
  suggested: boolean;
  mode: "patterns" | "strict";
  firstImport: boolean;
}

/** Cleans and hashes what an upstream listed, a little at a time; a name that comes twice counts once. */
export async function readListed(definitions: readonly ToolDefinition[]): Promise<ListedTool[]> {
  const listed = new Map<string, ListedTool>();
  const turns = takeTurns();
  for (const raw of definitions) {
    await turns.pass();
    if (typeof raw.name !== "string" || raw.name === "" || listed.has(raw.name)) continue;
    const { definition, findings } = cleanDefinition(raw);
    listed.set(raw.name, { upstreamName: raw.name, definition, hash: definitionHash(definition), findings });
  }
  return [...listed.values()];
}

/** SHA-256 of what a person reviews and a model sees: name, texts, schemas and annotations. */
export function definitionHash(definition: ToolDefinition): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  return digestOf({ name, title, description, inputSchema, outputSchema, annotations });
}

/** Works a little at a time, because there may be tens of thousands of tools. */
export async function diffCatalogue(
  slug: string,
  known: readonly KnownTool[],
  listed: readonly ListedTool[],
  rules: ReviewRules,
): Promise<CatalogueDiff> {
  const turns = takeTurns();
  const rows = new Map(known.map((row) => [row.upstreamName, row]));
  const names = assignNames(
    slug,
    listed.map(({ upstreamName }) => upstreamName),
    new Map(known.map((row) => [row.upstreamName, row.name])),
  );
  const diff: CatalogueDiff = { added: [], updated: [], gone: [] };
  for (const [position, tool] of listed.entries()) {
    await turns.pass();
    const { upstreamName } = tool;
    const row = rows.get(upstreamName);
    const state = stateOf(row, tool, rules);
    const name = names.get(upstreamName) ?? "";
    const change: ToolChange = { upstreamName, name, position, listed: tool, state, reviewed: state === "approved" };
    if (row === undefined) diff.added.push(change);
    else if (isDifferent(row, change)) diff.updated.push(change);
  }
  const present = new Set(listed.map(({ upstreamName }) => upstreamName));
  for (const row of known) {
    if (row.state !== "gone" && !present.has(row.upstreamName)) diff.gone.push(row.upstreamName);
  }
  return diff;
}

function stateOf(row: KnownTool | undefined, tool: ListedTool, rules: ReviewRules): ToolChange["state"] {
  if (row?.reviewedHash != null) return row.reviewedHash === tool.hash ? "approved" : "changed";
  if (rules.mode === "strict") return "pending";
  // Invisible characters that could not be taken out are for a person to judge.
  if (tool.findings.some(({ removed }) => !removed)) return "pending";
  return rules.named(tool.upstreamName) || (rules.suggested && rules.firstImport) ? "approved" : "pending";
}

function isDifferent(row: KnownTool, change: ToolChange): boolean {
  if (row.state !== change.state || row.position !== change.position || row.hash !== change.listed.hash) return true;
  // What the hash leaves out (`_meta`, icons) is kept up to date without a review.
  const { definition } = change.listed;
  const same = row.definitionText === JSON.stringify(definition);
  return !same && digestOf(JSON.parse(row.definitionText)) !== digestOf(definition);
}
