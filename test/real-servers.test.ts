/** The three public sample servers, over stdio and over HTTP, through the product, with every kind of SDK client. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import { Client as StdioClient } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connectV1, connectV2, FLAVOURS, type Flavour, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type HttpServed, serveOverHttp } from "./fixtures/stdio-over-http.ts";

const BIN = join(import.meta.dirname, "../node_modules/.bin");
const folder = mkdtempSync(join(tmpdir(), "jackfield-files-"));
const served: HttpServed[] = [];
let product: Product;

const everything = {
  type: "mcp",
  label: "Everything",
  auth: { method: "none" },
  access: { read: { tools: ["*"] }, resources: ["**"], prompts: ["*"] },
};
const memory = {
  type: "mcp",
  label: "Memory",
  auth: { method: "none" },
  access: { read: { tools: ["read_*", "search_*", "open_*"] }, write: { tools: ["create_*", "add_*", "delete_*"] } },
};
const files = {
  type: "mcp",
  label: "Files",
  auth: { method: "none" },
  access: {
    read: { tools: ["read_*", "list_*", "search_*", "get_*", "directory_*"] },
    write: { tools: ["write_file", "edit_file", "create_directory", "move_file"] },
  },
};

before(async () => {
  writeFileSync(join(folder, "hello.txt"), "hello from a file");
  const http = async (bin: string, args: string[], env: Record<string, string> = {}) => {
    const one = await serveOverHttp(join(BIN, bin), args, env);
    served.push(one);
    return one.url;
  };
  product = await startProduct({
    connections: {
      everything: { ...everything, command: ["mcp-server-everything"] },
      memory: { ...memory, command: ["mcp-server-memory"], env: { MEMORY_FILE_PATH: join(folder, "memory.json") } },
      files: { ...files, command: ["mcp-server-filesystem", folder] },
      "everything-http": { ...everything, url: await http("mcp-server-everything", []) },
      "memory-http": {
        ...memory,
        url: await http("mcp-server-memory", [], { MEMORY_FILE_PATH: join(folder, "memory-http.json") }),
      },
      "files-http": { ...files, url: await http("mcp-server-filesystem", [folder]) },
    },
    files: { "jackfield.yml": "version: 1\nstdio: allow\n" },
  });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  for (const one of served) await one[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** What the tests use of a client, whichever SDK it is. */
interface Used {
  list(): Promise<string[]>;
  call(
    name: string,
    args: object,
    options?: { onprogress?: (progress: { progress: number }) => void; signal?: AbortSignal },
  ): Promise<{ content?: unknown; structuredContent?: unknown; isError?: unknown }>;
  resources(): Promise<string[]>;
  read(uri: string): Promise<string>;
  prompts(): Promise<string[]>;
  prompt(name: string, args: Record<string, string>): Promise<string>;
  close(): Promise<void>;
}

async function open(flavour: Flavour): Promise<Used> {
  const token = await product.token({ name: `real-${flavour}` });
  const client =
    flavour === "v1"
      ? await connectV1(product.url, token)
      : await connectV2(product.url, token, flavour === "v2-modern" ? "modern" : "legacy");
  if (flavour === "v2-modern") assert.equal((client as Client).getNegotiatedProtocolVersion(), "2026-07-28");
  const any = client as Client;
  return {
    list: async () => (await any.listTools()).tools.map((tool) => tool.name),
    call: async (name, args, options) => {
      const params = { name, arguments: { ...args } };
      if (flavour !== "v1") return any.callTool(params, options);
      const { content, structuredContent, isError } = await (client as Awaited<ReturnType<typeof connectV1>>).callTool(
        params,
        undefined,
        options,
      );
      return { content, structuredContent, isError };
    },
    resources: async () => (await any.listResources()).resources.map((resource) => resource.uri),
    read: async (uri) => {
      const [content] = (await any.readResource({ uri })).contents;
      assert.equal(content?.uri, uri);
      return content && "text" in content ? String(content.text) : "";
    },
    prompts: async () => (await any.listPrompts()).prompts.map((prompt) => prompt.name),
    prompt: async (name, args) => JSON.stringify((await any.getPrompt({ name, arguments: args })).messages),
    close: () => client.close(),
  };
}

for (const flavour of FLAVOURS) {
  for (const suffix of ["", "-http"]) {
    describe(`${flavour} client, servers over ${suffix === "" ? "stdio" : "HTTP"}`, () => {
      let client: Used;
      before(async () => {
        client = await open(flavour);
      });
      after(() => client.close());

      it("finds a tool", async () => {
        const { structuredContent } = await client.call("tool_search", {
          query: "add two numbers",
          connection: `everything${suffix}`,
        });
        const { tools } = structuredContent as { tools: { name: string; connection: string; action: string }[] };
        assert.deepEqual(
          [tools[0]?.name, tools[0]?.connection, tools[0]?.action],
          [`everything${suffix}__get-sum`, `everything${suffix}`, "get-sum"],
        );
      });

      it("reads through tool_read", async () => {
        const result = await client.call("tool_read", {
          name: `files${suffix}__read_text_file`,
          arguments: { path: join(folder, "hello.txt") },
        });
        assert.equal(textOf(result), "hello from a file");
      });

      it("does not write through tool_read, and writes through tool_write", async () => {
        const name = `memory${suffix}__create_entities`;
        const args = { entities: [{ name: `${flavour}${suffix}`, entityType: "test", observations: [] }] };
        const refused = await client.call("tool_read", { name, arguments: args });
        assert.equal(refused.isError, true);
        assert.match(textOf(refused), /tool_write/);
        assert.notEqual((await client.call("tool_write", { name, arguments: args })).isError, true);
        const graph = await client.call("tool_read", { name: `memory${suffix}__read_graph`, arguments: {} });
        assert.match(textOf(graph), new RegExp(`"${flavour}${suffix}"`));
      });

      it("calls a tool by its own name, listed or not, and by its bare action where only one has it", async () => {
        const result = await client.call(`everything${suffix}__get-sum`, { a: 2, b: 3 });
        assert.match(textOf(result), /5/);
        const ambiguous = await client.call("get-sum", { a: 2, b: 3 }).then(
          () => "",
          (error: Error) => error.message,
        );
        assert.match(ambiguous, /everything__get-sum, everything-http__get-sum/);
      });

      it("tells wrong arguments and unknown tools in words", async () => {
        const wrong = await client.call(`everything${suffix}__get-sum`, { a: "two" });
        assert.equal(wrong.isError, true);
        assert.match(textOf(wrong), /a: must be number/);
        await assert.rejects(client.call(`everything${suffix}__nope`, {}), /Unknown tool/);
      });

      it("lists and reads resources", async () => {
        const uri = `jackfield://everything${suffix}/${encodeURIComponent("demo://resource/static/document/architecture.md")}`;
        assert.ok((await client.resources()).includes(uri));
        assert.match(await client.read(uri), /Everything/);
      });

      it("lists and gets prompts", async () => {
        const name = `everything${suffix}__args-prompt`;
        assert.ok((await client.prompts()).includes(name));
        assert.match(await client.prompt(name, { city: "Reykjavik" }), /Reykjavik/);
      });

      it("passes progress on", async () => {
        const seen: number[] = [];
        const result = await client.call(
          `everything${suffix}__trigger-long-running-operation`,
          { duration: 0.3, steps: 3 },
          { onprogress: ({ progress }) => seen.push(progress) },
        );
        assert.match(textOf(result), /completed/);
        assert.deepEqual(seen, [1, 2, 3]);
      });

      it("cancels a call, and the audit says so", async () => {
        const abort = new AbortController();
        const call = client.call(
          `everything${suffix}__trigger-long-running-operation`,
          { duration: 30, steps: 300 },
          { signal: abort.signal, onprogress: () => abort.abort() },
        );
        await assert.rejects(call);
        const events = await recorded(`everything${suffix}__trigger-long-running-operation`, "cancelled");
        assert.ok(events > 0);
      });
    });
  }
}

/** Waits until the audit holds such an event: it is written after the caller has gone. */
async function recorded(toolName: string, outcome: string): Promise<number> {
  const { auditEvents } = product.app.store.models;
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const count = await auditEvents.count({ where: { toolName, outcome } });
    if (count > 0) return count;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return 0;
}

it("mcp-remote with a bearer header lists and calls", async () => {
  const token = await product.token({ name: "mcp-remote" });
  const client = new StdioClient({ name: "behind-mcp-remote", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [
        join(BIN, "mcp-remote"),
        product.url,
        "--header",
        `Authorization: Bearer ${token}`,
        "--allow-http",
        "--transport",
        "http-only",
      ],
      env: { PATH: process.env["PATH"] ?? "", HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
      stderr: "ignore",
    }),
  );
  const { tools } = await client.listTools();
  assert.ok(tools.some((tool) => tool.name === "tool_search"));
  const result = await client.callTool({
    name: "tool_read",
    arguments: { name: "everything__echo", arguments: { message: "through" } },
  });
  assert.match(textOf(result), /through/);
  await client.close();
});
