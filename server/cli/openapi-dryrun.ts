/**
 * `openapi dryrun`: what an OpenAPI document becomes, and which request a call would be, as JSON lines on standard
 * input and output. Nothing is stored and no network connection is opened.
 */

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import type { JsonObject, ToolDefinition } from "../../adapters/contract.ts";
import { buildRequest } from "../../adapters/http-request/build.ts";
import { isObject, objectOf } from "../../adapters/http-request/json.ts";
import type { OperationPlan } from "../../adapters/http-request/plan.ts";
import { Plans } from "../../adapters/openapi/packed.ts";
import { type ReadDocument, readDocument } from "../../adapters/openapi/reader.ts";
import { assignNames } from "../gateway/names.ts";
import { type PropertyMap, portableSchema, restoreArguments } from "../gateway/portable-schema.ts";
import type { CliIo } from "./io.ts";

interface Loaded {
  plans: Plans;
  /** Public name -> the operation's own, and the way back for its arguments. */
  tools: Map<string, { action: string; restore: PropertyMap }>;
}

/** Method and path -> public name, as a connection's store keeps them over refreshes. */
type Kept = Map<string, string>;

export function addOpenapiDryrun(parent: Command, io: CliIo): void {
  parent
    .command("dryrun")
    .description("answer load and build requests about OpenAPI documents, one JSON object a line")
    .action(async () => {
      const kept = new Map<string, Kept>();
      let current: Loaded | undefined;
      for await (const line of createInterface({ input: process.stdin })) {
        if (line.trim() === "") continue;
        let id: unknown;
        try {
          const request = objectOf(JSON.parse(line));
          id = request["id"];
          let answer: JsonObject;
          if (request["op"] === "load") {
            const { loaded, told } = await load(request, kept);
            current = loaded;
            answer = told;
          } else answer = await build(request, current);
          io.out(`${JSON.stringify({ id, ok: true, ...answer })}\n`);
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          io.out(`${JSON.stringify({ id, ok: false, error: reason })}\n`);
        }
      }
    });
}

async function load(request: JsonObject, kept: Map<string, Kept>): Promise<{ loaded: Loaded; told: JsonObject }> {
  const { spec, specUrl, connection } = request;
  if (typeof spec !== "string" || typeof connection !== "string") throw new Error("load needs spec and connection");
  const bytes = await readFile(spec);
  const document = await readDocument({
    bytes: new Uint8Array(bytes),
    options: {
      ...(typeof specUrl === "string" ? { specUrl } : {}),
      variables: {},
      overrides: { read: [], write: [] },
      deprecated: "hide",
      names: [],
    },
  });
  // A document of the same title is another version of the same, and keeps its names as at a refresh.
  const key = `${connection}\0${document.title}`;
  const before: Kept = kept.get(key) ?? new Map();
  const actions = new Map(document.operations.map(({ method, path, action }) => [`${method} ${path}`, action]));
  const existing = new Map([...before].map(([identity, name]) => [actions.get(identity) ?? identity, name]));
  const names = assignNames(connection, [...actions.values()], existing);
  for (const [identity, action] of actions) before.set(identity, names.get(action) ?? action);
  kept.set(key, before);
  return describe(document, names);
}

async function describe(
  document: ReadDocument,
  names: ReadonlyMap<string, string>,
): Promise<{ loaded: Loaded; told: JsonObject }> {
  const plans = await Plans.unpack(document.plans);
  const loaded: Loaded = { plans, tools: new Map() };
  const operations = new Map(document.operations.map((operation) => [operation.action, operation]));
  const tools = document.tools.map((tool) => {
    const { schema, restore } = portableSchema(tool.inputSchema);
    const name = names.get(tool.name) ?? tool.name;
    loaded.tools.set(name, { action: tool.name, restore });
    const plan = plans.get(tool.name);
    const { method = "", path = "", operationId } = operations.get(tool.name) ?? {};
    const { _meta: _dropped, ...listed } = tool;
    return {
      ...listed,
      name,
      inputSchema: schema,
      access: accessOf(tool),
      operation: { method: method.toLowerCase(), path, ...(operationId === undefined ? {} : { operationId }) },
      argMap: plan === undefined ? [] : argMap(plan, restore),
    };
  });
  const skipped = document.skipped.map(({ method, ...rest }) => ({ method: method.toLowerCase(), ...rest }));
  return { loaded, told: { tools, skipped, warnings: document.warnings } };
}

function accessOf(tool: ToolDefinition): "read" | "write" {
  return tool.annotations?.["readOnlyHint"] === true ? "read" : "write";
}

function argMap(plan: OperationPlan, restore: PropertyMap): JsonObject[] {
  const listed = new Map([...restore].map(([shown, own]) => [own, shown]));
  const shown = (arg: string) => listed.get(arg) ?? arg;
  const parameters = plan.parameters.map(({ arg, name, in: place }) => ({ arg: shown(arg), in: place, name }));
  return plan.body === undefined ? parameters : [...parameters, { arg: shown(plan.body.arg), in: "body" }];
}

async function build(request: JsonObject, current: Loaded | undefined): Promise<JsonObject> {
  const { tool, arguments: args } = request;
  const known = typeof tool === "string" ? current?.tools.get(tool) : undefined;
  const plan = known === undefined ? undefined : current?.plans.get(known.action);
  if (known === undefined || plan === undefined) throw new Error(`there is no tool ${String(tool)}`);
  // A server variable without a value is the administrator's to choose; here it stands for itself.
  const server = plan.server.replace(/\{[^{}]+\}/g, encodeURIComponent);
  return { request: buildRequest({ ...plan, server }, restoreArguments(isObject(args) ? args : {}, known.restore)) };
}
