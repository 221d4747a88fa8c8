/** What was heard of a message -> the outcome of the call. */
import type { Part } from "@a2a-js/sdk";
import type { AdapterContext, CallContext, JsonObject, Outcome } from "../contract.ts";
import { isObject } from "../http-request/json.ts";
import type { Ending } from "./follow.ts";
import { type Heard, wordsOf } from "./heard.ts";
import { type Block, createPartReader, dataOf, textBlock } from "./parts.ts";
import { TASK_CANCEL, TASK_RESULT, TASK_STATUS } from "./tools.ts";

/** Bytes of structured data of one result. */
const MAX_STRUCTURED = 1024 * 1024;
const MAX_QUESTION = 4000;

/** Key of the question that an agent's `input-required` becomes. */
export const ANSWER = "answer";

export interface Handles {
  readonly task?: string;
  readonly context?: string;
}

export interface Telling {
  readonly context: AdapterContext;
  readonly call: CallContext;
  readonly heard: Heard;
  readonly handles: Handles;
  /** The tool that a message to this task goes through; undefined where it is not known. */
  readonly action: string | undefined;
  /** False where the caller was asked already and declined. */
  readonly ask: boolean;
}

/** Tells how a message or a task ended, or how it can be gone on with. */
export async function outcomeOf(telling: Telling, ending: Ending): Promise<Outcome> {
  const { heard, context } = telling;
  const read = createPartReader({ context, call: telling.call });
  if (heard.answer !== undefined) {
    const content = await read(heard.answer.parts);
    return told(telling, { content, data: dataOf(heard.answer.parts) });
  }
  if (ending.kind === "patience") return goesOn(telling);
  if (ending.kind === "cut") {
    const text = `The agent could not be heard any more: ${ending.error.message} Its task may go on.`;
    return told(telling, { content: [textBlock(text), textBlock(howToFollow(telling))], isError: true });
  }
  switch (heard.state) {
    case "completed":
      return finished(telling, read);
    case "input-required":
      return inputRequired(telling, read);
    case "auth-required":
      return authRequired(telling);
    case "failed":
    case "rejected":
    case "canceled":
      return failed(telling, read);
    default:
      return goesOn(telling);
  }
}

type Read = (parts: readonly Part[]) => Promise<Block[]>;

async function finished(telling: Telling, read: Read): Promise<Outcome> {
  const { heard } = telling;
  const content = await read(heard.statusParts);
  for (const { parts } of heard.artifacts) content.push(...(await read(parts)));
  if (content.length === 0) content.push(...(await read(heard.lastWords)));
  if (content.length === 0) content.push(textBlock("The agent finished its task without a result."));
  const data = [heard.statusParts, ...heard.artifacts.map(({ parts }) => parts)].flatMap(dataOf);
  return told(telling, { content, data });
}

async function failed(telling: Telling, read: Read): Promise<Outcome> {
  const { heard } = telling;
  const how = { failed: "failed", rejected: "refused the task", canceled: "canceled the task" };
  const what = heard.state === "rejected" || heard.state === "canceled" ? how[heard.state] : how.failed;
  const words = wordsOf(heard.statusParts) || wordsOf(heard.lastWords);
  const content = [textBlock(words === "" ? `The agent ${what}.` : `The agent ${what}: ${words}`)];
  for (const { parts } of heard.artifacts) content.push(...(await read(parts)));
  return told(telling, { content, isError: true });
}

/** The agent waits for words: the caller is asked for them where it can be, else told how to go on. */
async function inputRequired(telling: Telling, read: Read): Promise<Outcome> {
  const { heard, call, handles, action, ask } = telling;
  const words = wordsOf(heard.statusParts);
  const question = words === "" ? "The agent needs further input." : words;
  const content = await read(heard.statusParts);
  if (content.length === 0) content.push(textBlock(question));
  for (const { parts } of heard.artifacts) content.push(...(await read(parts)));
  const tool = action === undefined ? "the tool that began the task" : nameOf(telling, action);
  content.push(
    textBlock(`The agent waits for an answer. Call ${tool} with {"task": "${handles.task}", "message": "<answer>"}.`),
  );
  const { result } = told(telling, { content, data: dataOf(heard.statusParts) });
  if (!ask || action === undefined || handles.task === undefined || !takesForms(call.caller.capabilities)) {
    return { kind: "result", result };
  }
  const params = {
    mode: "form",
    message: question.slice(0, MAX_QUESTION).toWellFormed(),
    requestedSchema: {
      type: "object",
      properties: { [ANSWER]: { type: "string", title: "Answer" } },
      required: [ANSWER],
    },
  };
  const inputRequests = { [ANSWER]: { method: "elicitation/create", params } };
  const requestState = JSON.stringify({ task: handles.task });
  return { kind: "input_required", inputRequests, requestState, result: { ...result, inputRequests, requestState } };
}

function authRequired(telling: Telling): Outcome {
  const words = wordsOf(telling.heard.statusParts);
  const said = words === "" ? "" : ` It says: ${words}`;
  const text = `The agent needs a further authorization before it goes on.${said}`;
  const { result } = told(telling, {
    content: [textBlock(text), textBlock(`Once that is given: ${howToFollow(telling)}`)],
    isError: true,
  });
  return {
    kind: "result",
    result: {
      ...result,
      structuredContent: { ...objectIn(result["structuredContent"]), status: "authorization_required" },
      _meta: {
        "jackfield/error": { code: "authorization_required", connection: telling.context.connection.slug },
      },
    },
  };
}

/** The task outlives the call. */
function goesOn(telling: Telling): Outcome {
  const { heard } = telling;
  const words = wordsOf(heard.statusParts);
  const state = heard.state === "unknown" ? "under way" : heard.state;
  const text = `The agent's task is ${state} and goes on.${words === "" ? "" : ` It says: ${words}`}`;
  return told(telling, { content: [textBlock(text), textBlock(howToFollow(telling))] });
}

function howToFollow(telling: Telling): string {
  const task = `{"task": "${telling.handles.task}"}`;
  const [result, status, cancel] = [TASK_RESULT, TASK_STATUS, TASK_CANCEL].map((action) => nameOf(telling, action));
  return `${result} ${task} waits for its result; ${status} tells how it is going; ${cancel} ends it.`;
}

/** The public name of a tool of this connection outside transparent endpoints. */
function nameOf({ context }: Telling, action: string): string {
  return `${context.connection.slug}__${action}`;
}

function told(
  { heard, handles }: Telling,
  { content, data = [], isError }: { content: Block[]; data?: unknown[]; isError?: true },
): Extract<Outcome, { kind: "result" }> {
  const blocks = content.length === 0 ? [textBlock("The agent answered without content.")] : content;
  const talk = heard.state === "completed" || heard.answer !== undefined ? handles.context : undefined;
  const hint = talk === undefined ? [] : [textBlock(`To go on with this conversation give "context": "${talk}".`)];
  const artifacts = heard.artifacts.flatMap(({ name, description }) =>
    name === "" ? [] : [{ name, ...(description === "" ? {} : { description }) }],
  );
  const structured: JsonObject = {
    state: heard.answer === undefined ? heard.state : "answered",
    ...(handles.task === undefined ? {} : { task: handles.task }),
    ...(handles.context === undefined ? {} : { context: handles.context }),
    ...(artifacts.length === 0 ? {} : { artifacts }),
  };
  const fits = data.length > 0 && Buffer.byteLength(JSON.stringify(data)) <= MAX_STRUCTURED;
  return {
    kind: "result",
    result: {
      content: [...blocks, ...hint],
      structuredContent: fits ? { ...structured, data } : structured,
      ...(isError ? { isError } : {}),
    },
  };
}

/** `elicitation: {}` means form mode only (MCP 2025-11-25). */
function takesForms(capabilities: JsonObject): boolean {
  const { elicitation } = capabilities;
  return isObject(elicitation) && (isObject(elicitation["form"]) || !isObject(elicitation["url"]));
}

function objectIn(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
