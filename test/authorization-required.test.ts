/** What a caller sees of a connection that needs a sign-in: the refused call, the question, the search, the lists. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type AuthorizationServer, startAuthorizationServer } from "./fixtures/authorization-server.ts";
import { connectV1, connectV2, textOf } from "./fixtures/clients.ts";
import { openLink, pathOf, signInTo, visitServer } from "./fixtures/connection-sign-in.ts";
import { signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type ProtectedUpstream, startProtectedUpstream } from "./fixtures/upstreams/protected.ts";

interface Entry {
  id: string;
  state: string;
  needsAuthorization?: boolean;
  consentUrl?: string;
}

describe("a connection of each person, required", () => {
  let server: AuthorizationServer;
  let upstream: ProtectedUpstream;
  let product: Product;
  let admin: Visitor;

  beforeEach(async () => {
    server = await startAuthorizationServer({});
    upstream = await startProtectedUpstream(server);
    const tracker = {
      type: "mcp",
      label: "Tracker",
      url: upstream.url,
      auth: { method: "oauth" },
      access: { read: { tools: ["*"] } },
    };
    product = await startProduct({
      connections: {
        tracker: { ...tracker, subject: "user", required: true },
        shared: { ...tracker, label: "Shared" },
      },
    });
    admin = await signedInAdmin(product);
    // One agent's account is enough for the tools to be known to everybody.
    const known = await product.token({ name: "first" });
    const read = toolsRead("tracker");
    assert.equal((await signInTo(product, admin, known, "tracker")).status, 200);
    await read;
  });
  afterEach(async () => {
    await product[Symbol.asyncDispose]();
    await upstream.close();
    await server.close();
  });

  function toolsRead(slug: string): Promise<void> {
    const { registry } = product.app;
    return new Promise((resolve) => {
      const look = () => {
        if (!registry.connections().some((one) => one.slug === slug && one.tools.length > 0)) return;
        stop();
        resolve();
      };
      const stop = registry.onChange(look);
      look();
    });
  }

  async function finish(url: string): Promise<number> {
    const answer = await visitServer(await openLink(admin, pathOf(url)));
    return (await admin.get(answer)).status;
  }

  const attempts = () => product.app.store.models.signInAttempts.count();

  it("is searched and shown as needing a sign-in, and searching makes no attempt", async () => {
    const before = await attempts();
    const client = await connectV2(product.url, await product.token({ name: "second" }), "modern");
    const { structuredContent, content } = await client.callTool({
      name: "tool_search",
      arguments: { query: "echo", connection: "tracker" },
    });
    const { tools, connections } = structuredContent as {
      tools: { name: string; state: string }[];
      connections: Entry[];
    };
    assert.deepEqual([tools[0]?.name, tools[0]?.state], ["tracker__echo", "needsAuthorization"]);
    const entry = connections.find(({ id }) => id === "tracker");
    assert.equal(entry?.needsAuthorization, true);
    assert.match(entry?.consentUrl ?? "", /\/connections\/sign-in\?/);
    assert.match(textOf({ content }), /^tracker is required and cannot be used now/);
    assert.match(client.getInstructions() ?? "", /tracker is required/);
    assert.equal(await attempts(), before);
    await client.close();
  });

  it("is not shown so to the one who signed in", async () => {
    const client = await connectV2(product.url, await product.token({ name: "first" }), "modern");
    const { structuredContent } = await client.callTool({
      name: "tool_search",
      arguments: { query: "echo", connection: "tracker" },
    });
    const { tools } = structuredContent as { tools: { state: string }[] };
    assert.notEqual(tools[0]?.state, "needsAuthorization");
    assert.doesNotMatch(client.getInstructions() ?? "", /required/);
    await client.close();
  });

  for (const era of ["legacy", "modern"] as const) {
    it(`${era}: a client that can open a page is asked once, and the call goes on after the sign-in`, async () => {
      let finished: Promise<number> = Promise.resolve(0);
      const asked: { mode?: string; url?: string; message?: string }[] = [];
      const client = await connectV2(product.url, await product.token({ name: `opens-${era}` }), era, {
        capabilities: { elicitation: { url: {} } },
      });
      client.setRequestHandler("elicitation/create", async (request) => {
        const { params } = request as { params: { mode?: string; url?: string; message?: string } };
        asked.push(params);
        // The answer says that the page was opened; the person finishes while the call waits.
        finished = finish(params.url ?? "");
        return { action: "accept" as const };
      });
      const result = await client.callTool({ name: "tracker__echo", arguments: {} });
      assert.notEqual(result.isError, true, textOf(result));
      assert.equal(asked.length, 1);
      assert.equal(await finished, 200);
      assert.equal(asked[0]?.mode, "url");
      assert.match(asked[0]?.message ?? "", /^Tracker needs a sign-in first/);
      await client.close();
    });

    it(`${era}: one that declines gets the link in a result, and is not asked again`, async () => {
      let asked = 0;
      const client = await connectV2(product.url, await product.token({ name: `declines-${era}` }), era, {
        capabilities: { elicitation: { url: {} } },
      });
      client.setRequestHandler("elicitation/create", () => {
        asked += 1;
        return { action: "decline" as const };
      });
      const result = await client.callTool({ name: "tracker__echo", arguments: {} });
      assert.deepEqual([asked, result.isError], [1, true]);
      assert.match(textOf(result), /\/connections\/sign-in\?/);
      await client.close();
    });
  }

  it("a client that cannot open a page gets the link in a structured, recoverable result", async () => {
    const client = await connectV1(product.url, await product.token({ name: "reads" }));
    const calls = upstream.presented.length;
    const { isError, structuredContent, content } = await client.callTool({ name: "tracker__echo", arguments: {} });
    assert.equal(isError, true);
    const { status, connection, url } = structuredContent as { status: string; connection: string; url: string };
    assert.deepEqual([status, connection], ["authorization_required", "tracker"]);
    assert.match(textOf({ content }), new RegExp(url.slice(0, 40).replace(/[?.]/g, "\\$&")));
    assert.equal(upstream.presented.length, calls, "the service saw nothing");
    await client.close();
  });

  it("who may not sign in for everybody is told who can, without a link", async () => {
    const token = await product.token({ name: "first" });
    const client = await connectV1(product.url, token);
    const before = await client.callTool({ name: "tool_search", arguments: { connection: "shared" } });
    const { connections } = before.structuredContent as { connections: Entry[] };
    const entry = connections.find(({ id }) => id === "shared");
    assert.deepEqual([entry?.state, entry?.consentUrl], ["needsAuthorization", undefined]);
    await client.close();
  });

  it("consent tells the open streams of that principal to list again", async () => {
    const token = await product.token({ name: "listens" });
    const told = Promise.withResolvers<void>();
    const client = await connectV2(product.url, token, "modern", {
      listChanged: { tools: { onChanged: () => told.resolve() } },
    });
    await client.listTools();
    assert.equal((await signInTo(product, admin, token, "tracker")).status, 200);
    await told.promise;
    await client.close();
  });
});
