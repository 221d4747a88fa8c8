/** The adapter's own keys of a connection. */
import type { JsonObject } from "../contract.ts";

export interface HttpConfig {
  readonly kind: "http";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

export interface StdioConfig {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** What the connection may ask its callers; decides what the one child is told at its start. */
  readonly asks: "none" | "elicitation" | "all";
}

export const configSchema: JsonObject = {
  type: "object",
  properties: {
    url: {
      type: "string",
      format: "uri",
      title: "URL",
      description: "Where the MCP server listens. Parameters that are no secret may stand in it.",
    },
    headers: {
      type: "object",
      title: "Headers",
      description: "Sent with every request. Never a secret: that belongs into the credential.",
      additionalProperties: { type: "string" },
    },
    command: {
      type: "array",
      title: "Command",
      description: "Program and arguments of a server that speaks over stdin and stdout. Only from files, no shell.",
      items: { type: "string", minLength: 1 },
      minItems: 1,
    },
    cwd: { type: "string", title: "Working directory" },
    env: { type: "object", title: "Environment of the program", additionalProperties: { type: "string" } },
    asks: { enum: ["none", "elicitation", "all"], default: "none" },
  },
  oneOf: [{ required: ["url"] }, { required: ["command"] }],
};

/** Reads a configuration that `configSchema` has accepted. Throws a TypeError on anything else. */
export function readConfig(config: JsonObject): HttpConfig | StdioConfig {
  const { url, command, cwd, asks } = config;
  if (typeof url === "string") return { kind: "http", url: new URL(url), headers: strings(config["headers"]) };
  if (!Array.isArray(command) || !command.every((part) => typeof part === "string"))
    throw new TypeError("an mcp connection needs a url or a command");
  const [program, ...args] = command;
  if (program === undefined) throw new TypeError("the command of an mcp connection is empty");
  return {
    kind: "stdio",
    command: program,
    args,
    cwd: typeof cwd === "string" ? cwd : undefined,
    env: strings(config["env"]),
    asks: asks === "elicitation" || asks === "all" ? asks : "none",
  };
}

function strings(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter((entry) => typeof entry[1] === "string"));
}
