/** What a caller reads while its call waits for a person: what happens next, for a model and for a client. */
import type { JsonObject } from "../../../adapters/contract.ts";
import { failure } from "../results.ts";
import type { ToolEntry } from "../toolset.ts";
import type { Approval } from "./record.ts";

/** The result of a call that was proposed. @param url the page on which it is decided */
export function approvalRequired(approval: Approval, entry: ToolEntry, url: string, transparent: boolean): JsonObject {
  const { id, decider, selfApprove } = approval;
  const until = approval.expiresAt.toISOString();
  const own = decider === "caller" || selfApprove === 1;
  const who = own ? "Open" : "Somebody who may approve calls (not you) must open";
  const run = transparent ? undefined : { tool: "tool_write", arguments: { name: entry.name, approval: id } };
  const call = run === undefined ? "" : `call tool_write with ${JSON.stringify(run.arguments)}, or `;
  const text = `Nothing was done: a person must approve this call first (approval ${id}). ${who} ${url} and decide before ${until}. Once it is approved, ${call}make exactly the same call again; it runs once. Tell the user, and do not try another way.`;
  const structured = { id, url, decider, expiresAt: until, tool: entry.name, ...(run === undefined ? {} : { run }) };
  return {
    ...failure("approval_required", text, { approval: id, url }),
    structuredContent: { status: "approval_required", approval: structured },
  };
}

/**
 * The arguments for a person to read: JSON, with everything that is not to be seen (control and format characters,
 * directions of writing, separators) as `\\uXXXX`, so that what is shown is what is sent.
 */
export function shownArguments(args: JsonObject): string {
  return JSON.stringify(args, null, 2).replace(/[^\P{C}\n]|[\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** What `approvalRequired` said, where the caller's own client may put the question. */
export function askableApprovalOf(result: JsonObject): { id: string } | undefined {
  const { structuredContent } = result;
  if (result["isError"] !== true || !isObject(structuredContent)) return undefined;
  const { status, approval } = structuredContent;
  if (status !== "approval_required" || !isObject(approval) || approval["decider"] !== "caller") return undefined;
  return typeof approval["id"] === "string" ? { id: approval["id"] } : undefined;
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
