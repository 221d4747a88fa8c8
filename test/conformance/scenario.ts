/**
 * Plays one scenario of the client suites through the whole product: a connection to the suite's server, a person in
 * a browser who signs in wherever the product asks for it, and a client with a bearer token that searches and calls.
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import { connectV2 } from "../fixtures/clients.ts";
import { askAuthorize, pathOf } from "../fixtures/connection-sign-in.ts";
import { signedInAdmin, type Visitor } from "../fixtures/page-visitor.ts";
import { type Product, startProduct } from "../fixtures/product.ts";

export const ScenarioRequest = z.object({
  name: z.string(),
  /** Of the suite's server. */
  url: z.url(),
  /** Revision of the protocol that is tested; absent: any. */
  version: z.string().optional(),
  context: z
    .object({
      client_id: z.string().optional(),
      client_secret: z.string().optional(),
      private_key_pem: z.string().optional(),
      signing_algorithm: z.string().optional(),
      toolCalls: z.array(z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })).optional(),
    })
    .loose(),
});
export type ScenarioRequest = z.infer<typeof ScenarioRequest>;

export interface Play {
  readonly passed: boolean;
  readonly report: string[];
}

const CONNECTION = "upstream";
const DOCUMENT = "https://conformance-test.local/client-metadata.json";
/** The first sign-in and two that the service may demand after it. */
const MAX_SIGN_INS = 3;
const WAIT_MS = 20_000;
/** Milliseconds between two looks at a connection that is being read. */
const POLL_MS = 50;
/** The product must refuse to sign in: what the suite's server says about itself is wrong. */
const REFUSED: ReadonlySet<string> = new Set([
  "auth/resource-mismatch",
  "auth/metadata-issuer-mismatch",
  "auth/iss-supported-missing",
  "auth/iss-wrong-issuer",
  "auth/iss-unexpected",
  "auth/iss-normalized",
]);

/** The service goes on demanding scopes that it was signed in with: the product has to stop asking for sign-ins. */
const ENDLESS: ReadonlySet<string> = new Set(["auth/scope-retry-limit"]);
/** Only lists: calls are not served. */
const NOT_CALLED: ReadonlySet<string> = new Set(["json-schema-ref-no-deref"]);

/** Plays a scenario. Whether the suite is satisfied is its own to say; `passed` is whether we came to the end we expect. */
export async function play(scenario: ScenarioRequest): Promise<Play> {
  const report: string[] = [];
  const product = await startProduct({
    connections: { [CONNECTION]: connectionFor(scenario) },
    endpoints: { verbatim: { discovery: "transparent", connection: CONNECTION } },
    files: { "jackfield.yml": `version: 1\nclientMetadataUrl: ${DOCUMENT}\n` },
  });
  try {
    await storeClient(product, scenario);
    if (!scenario.name.startsWith("auth/")) await useVerbatim(product, scenario, report);
    else if (scenario.name.startsWith("auth/client-credentials-"))
      await callFirst(product, await product.token(), report);
    else await signInAndCall(product, scenario, report);
    return { passed: true, report };
  } catch (error) {
    report.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return { passed: false, report };
  } finally {
    await product[Symbol.asyncDispose]();
  }
}

function connectionFor({ name, url, context }: ScenarioRequest): object {
  const common = {
    type: "mcp",
    url,
    asks: "all",
    access: { read: { tools: ["*"] }, resources: ["*"], prompts: ["*"] },
  };
  if (name.startsWith("auth/client-credentials-")) {
    const { signing_algorithm: algorithm } = context;
    return { ...common, auth: { method: "client_credentials", ...(algorithm ? { algorithm } : {}) } };
  }
  // An account of the caller's own, which an admin signs in.
  return name.startsWith("auth/") ? { ...common, auth: { method: "oauth" }, subject: "user" } : common;
}

/** The client that the suite gives us becomes the connection's stored credential. */
async function storeClient({ app }: Product, { context }: ScenarioRequest): Promise<void> {
  const { client_id, client_secret, private_key_pem } = context;
  if (client_id === undefined) return;
  const organization = await app.store.models.organizations.findOne();
  await app.credentials.set({
    organizationId: organization?.id ?? "",
    name: CONNECTION,
    values: {
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(private_key_pem === undefined ? {} : { private_key: private_key_pem }),
    },
    by: "conformance",
  });
}

async function signInAndCall(product: Product, scenario: ScenarioRequest, report: string[]): Promise<void> {
  const admin = await signedInAdmin(product);
  const token = await product.token();
  const refuses = REFUSED.has(scenario.name);
  const endless = ENDLESS.has(scenario.name);
  let signIns = 0;
  const signIn = async (url: string): Promise<void> => {
    signIns += 1;
    assert.ok(signIns <= MAX_SIGN_INS, "the product asks for more sign-ins than it may");
    const page = await visit(admin, pathOf(url), report);
    assert.equal(/is connected/.test(page), !refuses, page);
  };
  /** Signs in as often as the product says that it is needed, until it has read the tools. */
  const becomeConnected = async (): Promise<void> => {
    const deadline = Date.now() + WAIT_MS;
    while (!hasTools(product)) {
      if (endless && signIns === MAX_SIGN_INS && hasFailed(product)) return;
      assert.ok(Date.now() < deadline, `no tools are served: ${stateOf(product)}`);
      const { body } = await askAuthorize(product, token, CONNECTION);
      assert.ok(body.status === "authorize" || body.status === "connected", JSON.stringify(body));
      if (body.status === "connected") await delay(POLL_MS);
      else await signIn(body.url ?? "");
      if (refuses) return;
    }
  };
  await becomeConnected();
  if (refuses || endless) return;

  // One call is enough, but for a service that moves to another authorization server after the first.
  const calls = scenario.name === "auth/authorization-server-migration" ? 2 : 1;
  for (let call = 0; call < calls; call += 1) {
    for (;;) {
      const url = await callFirst(product, token, report);
      if (url === undefined || signIns === MAX_SIGN_INS) break;
      await signIn(url);
    }
  }
}

/** Opens a link as a browser does, to the suite's authorization server and back; the text of the last page. */
async function visit(admin: Visitor, link: string, report: string[]): Promise<string> {
  const opened = await admin.get(link);
  report.push(`sign-in page: ${opened.status}`);
  if (opened.status !== 303) return opened.text;
  const response = await fetch(opened.location ?? "", { redirect: "manual" });
  const back = response.headers.get("location");
  report.push(`authorization server: ${response.status}`);
  if (back === null) return response.text();
  const page = await admin.get(pathOf(back));
  report.push(`callback: ${page.status} ${/<h1>([^<]*)/.exec(page.text)?.[1] ?? ""}`);
  return page.text;
}

/** Finds a tool by `tool_search` and calls it; the link of a sign-in that is needed first. */
async function callFirst(product: Product, token: string, report: string[]): Promise<string | undefined> {
  await toolsThere(product);
  const client = await connectV2(product.url, token, "modern");
  try {
    const found = await client.callTool({ name: "tool_search", arguments: { connection: CONNECTION, limit: 1 } });
    const name = nameOf(found.structuredContent);
    const result = await client.callTool({ name, arguments: {} });
    const said = z
      .object({ url: z.string().optional(), status: z.string() })
      .loose()
      .safeParse(result.structuredContent);
    report.push(`${name}: ${result.isError ? JSON.stringify(result.content) : "ok"}`);
    return said.success && said.data.status === "authorization_required" ? said.data.url : undefined;
  } finally {
    await client.close();
  }
}

const Found = z.object({ tools: z.array(z.object({ name: z.string() })).min(1) }).loose();
const nameOf = (content: unknown): string => Found.parse(content).tools[0]?.name ?? "";

function hasTools({ app }: Product): boolean {
  return app.registry.connections().some(({ slug, tools }) => slug === CONNECTION && tools.length > 0);
}

function hasFailed({ app }: Product): boolean {
  return app.registry.connections().some(({ slug, state }) => slug === CONNECTION && state === "failed");
}

function stateOf({ app }: Product): string {
  const { state, loadError } = app.registry.connections().find(({ slug }) => slug === CONNECTION) ?? {};
  return `${state} ${JSON.stringify(loadError)}`;
}

/** Waits until the connection's tools are served. */
async function toolsThere(product: Product): Promise<void> {
  const { registry } = product.app;
  await new Promise<void>((resolve, reject) => {
    const look = () => {
      if (!hasTools(product)) return;
      clearTimeout(timer);
      stop();
      resolve();
    };
    const stop = registry.onChange(look);
    const timer = setTimeout(() => {
      stop();
      reject(new Error(`no tools are served: ${stateOf(product)}`));
    }, WAIT_MS);
    look();
  });
}

/** What needs no sign-in is called by a client at a transparent endpoint, with the names and schemas of the service. */
async function useVerbatim(product: Product, scenario: ScenarioRequest, report: string[]): Promise<void> {
  const token = await product.token({ endpoint: "verbatim" });
  const era = scenario.version === "2026-07-28" ? "modern" : "legacy";
  const capabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} };
  const client = await connectV2(product.endpoint("verbatim"), token, era, { capabilities });
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { confirmed: true } }));
  try {
    const { tools } = await client.listTools();
    if (NOT_CALLED.has(scenario.name)) return;
    const given = scenario.context.toolCalls;
    const calls = given ?? tools.map((tool) => ({ name: tool.name, arguments: argumentsFor(tool, tools) }));
    for (const call of calls) await callAndTell(client, call, report);
  } finally {
    await client.close();
  }
}

async function callAndTell(
  client: Client,
  call: { name: string; arguments: Record<string, unknown> },
  report: string[],
): Promise<void> {
  const result = await client.callTool(call);
  report.push(`${call.name}: ${result.isError ? JSON.stringify(result.content) : "ok"}`);
}

type Tool = Awaited<ReturnType<Client["listTools"]>>["tools"][number];

/** Something for each property that the tool requires; a schema where it asks for one. */
function argumentsFor(tool: Tool, tools: readonly Tool[]): Record<string, unknown> {
  const { properties = {}, required = [] } = tool.inputSchema;
  const examples: Record<string, unknown> = { number: 2, integer: 2, boolean: true, array: [], string: "text" };
  return Object.fromEntries(
    required.map((name) => {
      const property = z.object({ type: z.string() }).loose().safeParse(properties[name]);
      if (name === "schema") return [name, tools.find((other) => other.name !== tool.name)?.inputSchema ?? {}];
      return [name, property.success ? (examples[property.data.type] ?? {}) : "text"];
    }),
  );
}
