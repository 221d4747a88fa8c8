/** Configuration as it comes back from the store: JSON that this program wrote, checked as such. */
import { z } from "zod";
import type { PolicyEntry } from "../access/policy.ts";
import { policyEntryOf } from "./from-file.ts";
import { policyEntry } from "./schema.ts";
import type { ConnectionConfig, EndpointConfig } from "./types.ts";

const strings = z.array(z.string());
const always = z.literal("always");

const scheme = {
  in: z.enum(["header", "query", "cookie"]).exactOptional(),
  name: z.string().exactOptional(),
  username: z.string().exactOptional(),
  secretEnv: z.string().exactOptional(),
};

const connection = z.object({
  type: z.enum(["mcp", "openapi", "http", "a2a", "ap"]),
  label: z.string(),
  description: z.string(),
  aliases: strings,
  subject: z.enum(["user", "workspace", "installation", "environment"]),
  required: z.boolean(),
  asks: z.enum(["none", "elicitation", "all"]),
  review: z.enum(["patterns", "strict"]),
  credential: z.string().exactOptional(),
  auth: z.object({
    method: z.enum(["none", "oauth", "client_credentials", "bearer", "basic", "api_key", "several", "fields"]),
    scopes: strings.exactOptional(),
    ...scheme,
    schemes: z
      .record(z.string(), z.object({ method: z.enum(["bearer", "basic", "api_key"]), ...scheme }))
      .exactOptional(),
    fields: z.record(z.string(), z.string()).exactOptional(),
    pairing: z.literal(true).exactOptional(),
    app: z.string().exactOptional(),
    values: z.record(z.string(), z.string()).exactOptional(),
    clientId: z.string().exactOptional(),
    clientIdEnv: z.string().exactOptional(),
    privateKeyEnv: z.string().exactOptional(),
    algorithm: z.string().exactOptional(),
    authentication: z.enum(["header", "body"]).exactOptional(),
  }),
  access: z.object({
    read: strings,
    write: strings,
    approval: z.object({
      read: always.exactOptional(),
      write: always.exactOptional(),
      tools: z.record(z.string(), z.enum(["always", "never"])),
    }),
    preset: z.enum(["read-only", "approval-required"]).exactOptional(),
    expose: strings.exactOptional(),
    disable: strings,
    resources: strings,
    prompts: strings,
    suggested: z.boolean(),
  }),
  approvals: z.object({ decider: z.enum(["approver", "caller"]), selfApprove: z.boolean() }).exactOptional(),
  adapter: z.record(z.string(), z.unknown()),
});

const entries = z.array(policyEntry);
const endpoint = z.object({
  label: z.string(),
  principals: z.object({ roles: strings, groups: strings, people: strings, agents: strings }).exactOptional(),
  discovery: z.enum(["search", "listed", "transparent"]),
  connection: z.string().exactOptional(),
  activation: z.enum(["on", "off"]),
  outputSchema: z.enum(["search", "list"]),
  assets: z.enum(["read", "pass"]).default("read"),
  audience: z.enum(["private", "shared"]),
  signIn: z.enum(["on", "off"]),
  pin: strings,
  rateLimit: z.object({ calls: z.number(), per: z.enum(["second", "minute", "hour", "day"]) }).exactOptional(),
  variables: z.record(z.string(), z.string()),
  tools: z.object({ allow: entries.exactOptional(), forbid: entries }),
});

export function parseConnectionConfig(stored: unknown): ConnectionConfig {
  return connection.parse(stored);
}

export function parseEndpointConfig(stored: unknown): EndpointConfig {
  const { tools, ...config } = endpoint.parse(stored);
  return {
    ...config,
    tools: {
      ...(tools.allow === undefined ? {} : { allow: tools.allow.map(policyEntryOf) }),
      forbid: tools.forbid.map(policyEntryOf),
    },
  };
}

export function parseForbid(stored: unknown): PolicyEntry[] {
  return entries.parse(stored ?? []).map(policyEntryOf);
}
