/** A scope that a call lacks: the page on which its person allows more, and what becomes of the tokens out there. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type AnyClient, connect, connectV1, connectV2, FLAVOURS, textOf } from "./fixtures/clients.ts";
import { pathOf, signedInPerson } from "./fixtures/connection-sign-in.ts";
import { answerRequest, authorizePath, pkce, publicClient, signInClient } from "./fixtures/oauth-client.ts";
import { signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

let upstream: PlainUpstream;
let product: Product;
let admin: Visitor;
let now = Date.now();
const open: Pick<Client, "close">[] = [];

before(async () => {
  upstream = await startPlainUpstream([plainTool("look"), plainTool("change")]);
  const notes = {
    type: "mcp",
    label: "Notes",
    url: upstream.url,
    auth: { method: "none" },
    access: { read: { tools: ["look"] }, write: { tools: ["change"] } },
  };
  product = await startProduct({
    connections: { notes },
    files: { "jackfield.yml": "version: 1\noauth: { clientDocuments: off }\n" },
    env: { JACKFIELD_TRUSTED_PROXIES: "loopback" },
    clock: () => now,
  });
  admin = await signedInAdmin(product);
});
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream.close();
});

interface Refused {
  status: string;
  error: string;
  scope: string;
  missing: string;
  url: string;
}

const keep = <T extends Pick<Client, "close">>(client: T): T => {
  open.push(client);
  return client;
};
const change = (client: AnyClient) => client.callTool({ name: "notes__change", arguments: { text: "x" } });
/** What a refused call says to programs. */
const said = (result: object) => (result as { structuredContent: Refused }).structuredContent;
const noted = async (rule: string) => {
  await product.app.audit.flush();
  const { auditEvents } = product.app.store.models;
  return (await auditEvents.findAll({ where: { door: "oauth", rule } })).map(({ outcome, principalName, reason }) => [
    outcome,
    principalName,
    reason,
  ]);
};
const reader = () => signInClient(product, admin, { scopes: ["mcp:read"] });

for (const flavour of FLAVOURS) {
  test(`${flavour}: a write with a token that may only read is answered with a page, and goes through once allowed there`, async () => {
    const { tokens, refresh } = await reader();
    assert.equal(tokens.scope, "mcp:read");
    const client = keep(await connect(flavour, product.url, tokens.access_token));
    const before = upstream.calls.length;
    const refused = await change(client);
    assert.equal(refused.isError, true);
    const { url, ...rest } = said(refused);
    assert.deepEqual(rest, {
      status: "authorization_required",
      error: "insufficient_scope",
      scope: "mcp:read mcp:write",
      missing: "mcp:write",
    });
    assert.equal(new URL(url).origin, new URL(product.url).origin);
    assert.ok(textOf(refused).includes(url));
    assert.equal(upstream.calls.length, before);

    const page = await admin.get(pathOf(url));
    assert.equal(page.status, 200, page.text);
    assert.match(page.text, /Allow Test client to do more\?/);
    assert.match(page.text, /So far it may: Look things up\./);
    assert.match(page.text, /value="mcp:write" checked/);
    assert.match(page.text, /127\.0\.0\.1:33999\/callback/);
    const sent = await admin.post(pathOf(url), { decision: "allow", scope: "mcp:write" });
    assert.equal(sent.status, 200, sent.text);
    assert.match(sent.text, /may do this now/);

    // The token that was refused, and those that follow it.
    assert.equal(textOf(await change(client)), "change");
    const next = await refresh();
    assert.equal(next.body.scope, "mcp:read mcp:write");
    const again = keep(await connect(flavour, product.url, next.body.access_token));
    assert.equal(textOf(await change(again)), "change");
  });
}

describe("clients that can open a page", () => {
  const capabilities = { elicitation: { url: {} } };
  const allow = async ({ params }: { params: object }) => {
    const { url } = params as { url: string };
    await admin.get(pathOf(url));
    assert.equal((await admin.post(pathOf(url), { decision: "allow", scope: "mcp:write" })).status, 200);
    return { action: "accept" as const };
  };

  for (const era of ["legacy", "modern"] as const) {
    test(`v2, ${era}: the page is opened as a question, and the same call goes through`, async () => {
      const { tokens } = await reader();
      const client = keep(await connectV2(product.url, tokens.access_token, era, { capabilities }));
      client.setRequestHandler("elicitation/create", allow);
      assert.equal(textOf(await change(client)), "change");
    });
  }

  test("v1: the page is opened as a question, and the same call goes through", async () => {
    const { tokens } = await reader();
    const client = keep(await connectV1(product.url, tokens.access_token, { capabilities }));
    client.setRequestHandler(ElicitRequestSchema, allow);
    assert.equal(textOf(await change(client as AnyClient)), "change");
  });

  test("who puts the question away reads the link, and is asked once", async () => {
    const { tokens } = await reader();
    const client = keep(await connectV2(product.url, tokens.access_token, "modern", { capabilities }));
    let asked = 0;
    client.setRequestHandler("elicitation/create", () => {
      asked += 1;
      return { action: "decline" as const };
    });
    const refused = await change(client);
    assert.equal(asked, 1);
    assert.equal(said(refused).missing, "mcp:write");
  });
});

describe("who gets a link, and what it is good for", () => {
  test("an agent's token gets words and no link", async () => {
    const token = await product.token({ name: "reader", scopes: ["mcp:read"] });
    const client = keep(await connectV2(product.url, token, "modern"));
    const refused = await change(client);
    assert.equal(refused.isError, true);
    assert.match(textOf(refused), /lacks the scope mcp:write/);
    assert.doesNotMatch(JSON.stringify(refused), /https?:/);
    assert.equal(refused.structuredContent, undefined);
  });

  test("pairing and reading lead to a page for their own scopes", async () => {
    const writer = await signInClient(product, admin);
    const pairing = keep(await connectV2(product.url, writer.tokens.access_token, "modern"));
    const pair = await pairing.callTool({ name: "pair", arguments: { packet: "a packet" } });
    // Nothing here can be paired, which is said first.
    assert.match(textOf(pair), /No connection can be paired/);
    const { tokens } = await signInClient(product, admin, { scope: "mcp:pair" });
    const only = keep(await connectV2(product.url, tokens.access_token, "modern"));
    const read = await only.callTool({ name: "tool_read", arguments: { name: "notes__look", arguments: {} } });
    assert.equal(said(read).missing, "mcp:read");
    assert.equal(said(read).scope, "mcp:read mcp:pair");
  });

  test("another person's browser changes nothing, and is in the audit with its person", async () => {
    const { tokens } = await reader();
    const client = keep(await connectV2(product.url, tokens.access_token, "modern"));
    const link = pathOf(said(await change(client)).url);
    const stranger = await signedInPerson(product, { username: "sam", role: "admin" });
    assert.equal((await stranger.get(link)).status, 403);
    await stranger.get("/sign-out");
    const sent = await stranger.post(link, { decision: "allow", scope: "mcp:write" });
    assert.equal(sent.status, 403);
    assert.equal((await change(client)).isError, true);
    assert.deepEqual(await noted("foreign_answer"), [
      ["refused", "sam", "Test client, more: mcp:write"],
      ["refused", "sam", "Test client, more: mcp:write"],
    ]);
  });

  test("who says no, or ticks nothing, has changed nothing; both answers stand in the audit", async () => {
    const { tokens } = await reader();
    const client = keep(await connectV2(product.url, tokens.access_token, "modern"));
    const link = pathOf(said(await change(client)).url);
    await admin.get(link);
    assert.equal((await admin.post(link, { decision: "allow" })).status, 422);
    assert.match((await admin.post(link, { decision: "deny" })).text, /Nothing was changed/);
    assert.equal((await change(client)).isError, true);
    assert.equal((await noted("consent_denied")).length, 1);
    const widened = await noted("consent_widened");
    assert.deepEqual(widened[0], ["ok", "Dana Reyes", "Test client, more: mcp:write"]);
  });

  test("a link ends after an hour, with its client's connection, and when it is changed", async () => {
    const { tokens } = await reader();
    const client = keep(await connectV2(product.url, tokens.access_token, "modern"));
    const link = pathOf(said(await change(client)).url);
    assert.equal((await admin.get(link)).status, 200);
    const changed = link.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    assert.equal((await admin.get(`${changed}x`)).status, 400);
    now += 61 * 60_000;
    assert.equal((await admin.get(link)).status, 400);
    now -= 61 * 60_000;
    await product.app.oauth.grants.endAll({}, "revoked");
    assert.equal((await admin.get(link)).status, 400);
  });

  test("what a web client is remembered for grows with it: connected again it need not ask", async () => {
    const redirectUri = "https://chat.example/callback";
    const clientId = await publicClient(product, redirectUri);
    const { tokens } = await signInClient(product, admin, { clientId, redirectUri, scopes: ["mcp:read"] });
    const client = keep(await connectV2(product.url, tokens.access_token, "modern"));
    const link = pathOf(said(await change(client)).url);
    await admin.get(link);
    assert.equal((await admin.post(link, { decision: "allow", scope: "mcp:write" })).status, 200);
    const request = { client_id: clientId, redirect_uri: redirectUri, code_challenge: pkce().challenge };
    const started = await admin.get(authorizePath({ ...request, resource: product.url, scope: "mcp:read mcp:write" }));
    assert.equal((await admin.get(started.location ?? "")).status, 303);
    const shown = await answerRequest(admin, authorizePath({ ...request, scope: "mcp:read mcp:write" }));
    assert.ok(shown.searchParams.get("code"));
  });
});
