/**
 * Tools that ask the client one thing in mid-call. Each is written once, as an `input_required` result
 * (MCP 2026-07-28, "Multi Round-Trip Requests"); for a session of an earlier revision the SDK sends the same
 * question as a real `elicitation/create`, `sampling/createMessage` or `roots/list` request.
 */

import type {
  CallToolResult,
  InputRequest,
  InputRequests,
  InputRequiredResult,
  McpServer,
  ServerContext,
} from "@modelcontextprotocol/server";
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { text } from "./plain-tools.ts";
import { askField, askForm, askModel, ENUM_FIELDS, FIELDS_WITH_DEFAULTS } from "./questions.ts";

export type Answer = CallToolResult | InputRequiredResult;

const noArguments = z.object({});
const declaration = z.record(z.string(), z.unknown()).optional();
const capabilities = z.object({ elicitation: declaration, sampling: declaration, roots: declaration });

/** The text of a model's answer under `key`, or undefined where there is none yet. */
export function modelAnswer(context: ServerContext, key: string): string | undefined {
  const response = inputResponse(context.mcpReq.inputResponses, key);
  if (response.kind !== "sampling") return undefined;
  const blocks = Array.isArray(response.result.content) ? response.result.content : [response.result.content];
  return blocks.map((block) => (block.type === "text" ? block.text : block.type)).join("\n");
}

/** Asks a form; tells what came back, also where the user declined. */
function formTool(question: InputRequest, answered: (action: string, content: string) => string) {
  return (context: ServerContext): Answer => {
    const response = inputResponse(context.mcpReq.inputResponses, "form");
    if (response.kind !== "elicit") return inputRequired({ inputRequests: { form: question } });
    return text(answered(response.action, JSON.stringify(response.content ?? {})));
  };
}

/** Registers the tools whose scenarios belong to the revisions with sessions. */
export function registerSessionAskingTools(server: McpServer): void {
  server.registerTool(
    "test_sampling",
    {
      description: "Asks the client's model",
      inputSchema: z.object({ prompt: z.string().describe("The prompt for the model") }),
    },
    ({ prompt }, context): Answer => {
      const answer = modelAnswer(context, "answer");
      if (answer === undefined) return inputRequired({ inputRequests: { answer: askModel(prompt) } });
      return text(`LLM response: ${answer}`);
    },
  );

  server.registerTool(
    "test_elicitation",
    {
      description: "Asks the user for one line",
      inputSchema: z.object({ message: z.string().describe("The message to show the user") }),
    },
    ({ message }, context) => {
      const question = askForm(message, { response: { type: "string", description: "User's response" } }, ["response"]);
      return formTool(question, (action, content) => `User response: action=${action}, content=${content}`)(context);
    },
  );

  const told = (action: string, content: string): string =>
    `Elicitation completed: action=${action}, content=${content}`;

  server.registerTool(
    "test_elicitation_sep1034_defaults",
    { description: "Asks a form whose fields have defaults (SEP-1034)", inputSchema: noArguments },
    (_args, context) => formTool(askForm("Please review the defaults", FIELDS_WITH_DEFAULTS), told)(context),
  );

  server.registerTool(
    "test_elicitation_sep1330_enums",
    { description: "Asks a form with every kind of enum (SEP-1330)", inputSchema: noArguments },
    (_args, context) => formTool(askForm("Please select options", ENUM_FIELDS), told)(context),
  );
}

/** Registers the tools that ask once and keep no state between the two requests. */
export function registerOneRoundTools(server: McpServer): void {
  server.registerTool(
    "test_missing_capability",
    { description: "Needs a client that offers sampling", inputSchema: noArguments },
    (_args, context): Answer => {
      const answer = modelAnswer(context, "answer");
      if (answer === undefined) return inputRequired({ inputRequests: { answer: askModel("Reply with: pong") } });
      return text(`The model said ${answer}`);
    },
  );

  server.registerTool(
    "test_input_required_result_elicitation",
    { description: "Asks for the user's name", inputSchema: noArguments },
    (_args, context): Answer => {
      // An answer that breaks the form's schema reads as none, so it is asked for again.
      const form = acceptedContent(context.mcpReq.inputResponses, "user_name", z.object({ name: z.string() }));
      if (form !== undefined) return text(`Hello, ${form.name}!`);
      return inputRequired({ inputRequests: { user_name: askField("What is your name?", "name", "string") } });
    },
  );

  server.registerTool(
    "test_input_required_result_sampling",
    { description: "Asks the client's model for a capital", inputSchema: noArguments },
    (_args, context): Answer => {
      const answer = modelAnswer(context, "capital_question");
      if (answer !== undefined) return text(`Sampling response: ${answer}`);
      return inputRequired({ inputRequests: { capital_question: askModel("What is the capital of France?") } });
    },
  );

  server.registerTool(
    "test_input_required_result_list_roots",
    { description: "Asks for the client's roots", inputSchema: noArguments },
    (_args, context): Answer => {
      const answer = inputResponse(context.mcpReq.inputResponses, "client_roots");
      if (answer.kind === "roots") return text(`Client roots: ${answer.roots.map((root) => root.uri).join(", ")}`);
      return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    },
  );

  server.registerTool(
    "test_input_required_result_capabilities",
    { description: "Asks only what the client declared that it can answer", inputSchema: noArguments },
    (_args, context): Answer => {
      if (context.mcpReq.inputResponses !== undefined) return text("All questions were answered");
      const questions = questionsFor(server, context);
      if (Object.keys(questions).length === 0) return text("The client declared nothing that could be asked");
      return inputRequired({ inputRequests: questions });
    },
  );
}

/** One question of each kind that this caller declared; a request of 2026-07-28 declares them in its envelope. */
function questionsFor(server: McpServer, context: ServerContext): InputRequests {
  const envelope = new Map<string, unknown>(Object.entries(context.mcpReq.envelope ?? {}));
  const declared = capabilities.parse(
    envelope.get(CLIENT_CAPABILITIES_META_KEY) ?? server.server.getClientCapabilities() ?? {},
  );
  const questions: InputRequests = {};
  if (declared.elicitation) questions["user_name"] = askField("What is your name?", "name", "string");
  if (declared.sampling) questions["greeting"] = askModel("Generate a short greeting");
  if (declared.roots) questions["client_roots"] = inputRequired.listRoots();
  return questions;
}
