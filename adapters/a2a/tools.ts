/** A card's skills as tools, and the tools that go with tasks. */
import type { AgentSkill } from "@a2a-js/sdk";
import type { JsonObject, ToolDefinition } from "../contract.ts";
import { bounded } from "../mcp/failures.ts";
import type { Agent } from "./agent.ts";
import { signatureWords } from "./signature.ts";

/** The tool of an agent that names no skills. */
export const SEND_MESSAGE = "send_message";
export const TASK_STATUS = "task_status";
export const TASK_RESULT = "task_result";
export const TASK_CANCEL = "task_cancel";
export const COMPANIONS: ReadonlySet<string> = new Set([TASK_STATUS, TASK_RESULT, TASK_CANCEL]);

const MAX_DESCRIPTION = 4000;
const MAX_EXAMPLES = 8;
const MAX_TAGS = 24;

const handle = (description: string): JsonObject => ({ type: "string", minLength: 1, maxLength: 64, description });

const MESSAGE_SCHEMA: JsonObject = {
  type: "object",
  properties: {
    message: { type: "string", minLength: 1, description: "What the agent is asked or told, in words." },
    data: { type: "object", description: "Structured input, where the agent takes some.", additionalProperties: true },
    files: {
      type: "array",
      maxItems: 16,
      description: "Files that go along.",
      items: {
        type: "object",
        properties: {
          asset: { type: "string", description: "Handle of a kept file (asset://...)." },
          url: { type: "string", description: "https address that the agent fetches the file from." },
          data: { type: "string", description: "The content in base64, for small files." },
          name: { type: "string", maxLength: 255 },
          type: { type: "string", maxLength: 255, description: "Media type." },
        },
        additionalProperties: false,
      },
    },
    context: handle("Handle of an earlier conversation with this agent, to go on with it."),
    task: handle("Handle of a task that waits for this message."),
  },
  required: ["message"],
  additionalProperties: false,
};

/** The tools of an agent, in the order of its card. */
export function toolsOf(agent: Agent): ToolDefinition[] {
  const skills = agent.skills.length === 0 ? [wholeAgent(agent)] : agent.skills.map((skill) => skillTool(agent, skill));
  return [...skills, ...companions(agent)];
}

/** A skill's id is its tool's name, unless that is the name of a tool that goes with tasks. */
export function actionOf({ id }: Pick<AgentSkill, "id">): string {
  return COMPANIONS.has(id) ? `skill_${id}` : id;
}

/** The skill behind a tool: null for an agent without skills, undefined where there is none of that name any more. */
export function skillOf(agent: Agent, action: string): AgentSkill | null | undefined {
  if (agent.skills.length === 0) return action === SEND_MESSAGE ? null : undefined;
  return agent.skills.find((skill) => actionOf(skill) === action);
}

function skillTool(agent: Agent, skill: AgentSkill): ToolDefinition {
  const lines = [
    skill.description,
    listed("Examples", skill.examples.slice(0, MAX_EXAMPLES), "; "),
    listed("Tags", skill.tags.slice(0, MAX_TAGS), ", "),
    modes(skill.inputModes, skill.outputModes),
  ];
  return {
    name: actionOf(skill),
    ...(skill.name === "" ? {} : { title: bounded(skill.name) }),
    description: joined(lines),
    inputSchema: MESSAGE_SCHEMA,
    annotations: { readOnlyHint: false, openWorldHint: true, ...about(agent) },
  };
}

function wholeAgent(agent: Agent): ToolDefinition {
  const { name, description, defaultInputModes, defaultOutputModes } = agent.card;
  return {
    name: SEND_MESSAGE,
    title: bounded(name),
    description: joined([description, modes(defaultInputModes, defaultOutputModes)]),
    inputSchema: MESSAGE_SCHEMA,
    annotations: { readOnlyHint: false, openWorldHint: true, ...about(agent) },
  };
}

function companions(agent: Agent): ToolDefinition[] {
  const who = bounded(agent.card.name).slice(0, 100);
  const task = handle("Handle of the task.");
  const reads = { readOnlyHint: true, openWorldHint: true, ...about(agent) };
  return [
    {
      name: TASK_STATUS,
      title: "Status of a task",
      description: `Tells how a task of ${who} is going, without waiting for it.`,
      inputSchema: schemaOf({ task }),
      annotations: reads,
    },
    {
      name: TASK_RESULT,
      title: "Result of a task",
      description: `Gives the result of a task of ${who}. Waits for it a while where it is not there yet.`,
      inputSchema: schemaOf({
        task,
        wait: { type: "integer", minimum: 0, maximum: 600, description: "Seconds to wait at most." },
      }),
      annotations: reads,
    },
    {
      name: TASK_CANCEL,
      title: "Cancel a task",
      description: `Ends a task of ${who} that is not finished.`,
      inputSchema: schemaOf({ task }),
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true, ...about(agent) },
    },
  ];
}

function schemaOf(properties: JsonObject): JsonObject {
  return { type: "object", properties, required: ["task"], additionalProperties: false };
}

/**
 * Who the agent is, in every tool: a card that names another address, key or version is a changed tool, which a
 * person looks at before anything is sent there.
 */
function about(agent: Agent): JsonObject {
  const { name, version, provider } = agent.card;
  const schemes = Object.keys(agent.card.securitySchemes).sort();
  return {
    agent: {
      name: bounded(name),
      version: bounded(version),
      ...(provider === undefined ? {} : { provider: bounded(provider.organization) }),
      url: agent.spoken.url,
      protocol: agent.protocol,
      signature: signatureWords(agent.signature),
      ...(schemes.length === 0 ? {} : { security: schemes.map(bounded) }),
    },
  };
}

function listed(title: string, items: readonly string[], between: string): string {
  const words = items.map((item) => bounded(item).slice(0, 300)).filter((item) => item !== "");
  return words.length === 0 ? "" : `${title}: ${words.join(between)}`;
}

function modes(input: readonly string[], output: readonly string[]): string {
  const parts = [listed("Takes", input.slice(0, 12), ", "), listed("Gives", output.slice(0, 12), ", ")];
  return parts.filter((part) => part !== "").join(". ");
}

function joined(lines: readonly string[]): string {
  const text = lines.filter((line) => line !== "").join("\n");
  return text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION - 1).toWellFormed()}…` : text;
}
