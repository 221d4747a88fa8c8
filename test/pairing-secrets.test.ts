/** What pairing leaves behind: no packet and no token anywhere but sealed, an audit that says what happened, and accounts that go on living. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it, test } from "node:test";
import { createLog } from "../server/observe/log.ts";
import type { Scope } from "../server/people/principal.ts";
import { connect, textOf } from "./fixtures/clients.ts";
import { json, type PairingProvider, startPairingProvider } from "./fixtures/pairing-provider.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

const SCOPES: readonly Scope[] = ["mcp:read", "mcp:write", "mcp:pair"];
const connection = (url: string, more: object = {}) => ({
  type: "mcp",
  label: "Notes",
  url,
  auth: { method: "oauth", pairing: true },
  subject: "user",
  access: { read: { tools: ["get_*"] } },
  ...more,
});

async function paired(product: Product, name = "agent") {
  const client = await connect("v2-modern", product.url, await product.token({ name, scopes: SCOPES }));
  return {
    client,
    pair: (packet: string, more: object = {}) => client.callTool({ name: "pair", arguments: { packet, ...more } }),
  };
}

function collected() {
  const lines: string[] = [];
  const log = createLog(
    { log: { level: "debug", format: "json" } },
    { destination: { write: (line: string) => void lines.push(line) } },
  );
  return { lines, log };
}

it("no packet and no token is in an answer, a log line or the database, whatever happens", async () => {
  const provider = await startPairingProvider();
  const { lines, log } = collected();
  const product = await startProduct({ connections: { notes: connection(provider.url) }, log });
  const secrets: string[] = [];
  const answers: string[] = [];
  const packet = (options: Parameters<PairingProvider["packet"]>[0] = {}) => {
    const grant = { refresh_token: `refresh-${secrets.length}-0123456789abcdef`, ...options.grant };
    const made = provider.packet({ ...options, grant });
    secrets.push(made.claim, made.grant.access_token, grant.refresh_token);
    return made;
  };
  try {
    const { client, pair } = await paired(product);
    const said = async (work: Promise<unknown>) =>
      answers.push(JSON.stringify(await work.catch((error: unknown) => String(error))));
    const good = packet();
    await said(pair(good.text));
    await said(pair(good.text));
    await said(pair(packet({ scope: "a", grant: { scope: "b" } }).text));
    await said(pair(packet({ origin: "https://elsewhere.example" }).text));
    await said(pair(packet().text.replace("jackfield-pair:", "jackfield-pair")));
    // Packets in the wrong place.
    await said(pair(packet().text, { connection: packet().text }));
    await said(client.callTool({ name: packet().text, arguments: { packet: packet().text } }));
    await said(client.callTool({ name: "tool_write", arguments: { name: "notes__pair", packet: packet().text } }));
    await said(client.callTool({ name: "tool_write", arguments: { name: packet().text } }));
    // A provider that repeats what it was sent, in whatever way.
    for (const [status, echo] of [
      [400, (claim: string) => ({ error: "invalid_grant", error_description: `bad claim ${claim}` })],
      [400, (claim: string) => ({ error: claim })],
      [500, (claim: string) => ({ message: encodeURIComponent(claim) })],
      [200, (claim: string) => ({ error: claim })],
      [200, (claim: string) => ({ access_token: claim, scope: 7 })],
    ] as const) {
      const { text, claim } = packet();
      provider.answer = (response) => json(response, status, echo(claim));
      await said(pair(text));
    }
    for (const broken of ["destroy", "half", "large", "text"]) {
      provider.answer = (response, body) => {
        if (broken === "destroy") return response.destroy();
        response.writeHead(200, { "content-type": "application/json" });
        if (broken === "half") return response.write(body, () => response.destroy());
        return response.end(broken === "large" ? body.repeat(10_000) : body);
      };
      await said(pair(packet().text));
    }
    provider.answer = undefined;
    await client.close();
  } finally {
    await product.stop();
    await provider.close();
  }
  const told = answers.join("\n");
  const data = join(product.directory, "data");
  const kept = readdirSync(data).map((name) => readFileSync(join(data, name), "latin1"));
  await product[Symbol.asyncDispose]();
  assert.match(told, /Notes is paired/);
  assert.ok(lines.some((line) => line.includes("packet")) && kept.some((bytes) => bytes.includes("packet_used")));
  const places = { "an answer": [told], "a log line": lines, "the database": kept };
  for (const [place, texts] of Object.entries(places)) {
    for (const secret of secrets) assert.ok(!texts.some((text) => text.includes(secret)), `${secret} is in ${place}`);
  }
});

it("a failure says whether the packet can be tried again", async () => {
  await using provider = Object.assign(await startPairingProvider(), { [Symbol.asyncDispose]: () => provider.close() });
  const gone = await startPairingProvider();
  await gone.close();
  await using product = await startProduct({
    connections: { notes: connection(provider.url), gone: connection(gone.url, { label: "Gone" }) },
  });
  const { client, pair } = await paired(product);
  const nowhere = { connection: "gone" };
  const never = gone.packet().text;
  for (const _again of [1, 2]) assert.match(textOf(await pair(never, nowhere)), /cannot be reached.*Nothing was sent/);
  assert.equal(await product.app.store.models.pairingPackets.count(), 0);

  provider.answer = (response) => json(response, 503, { error: "temporarily_unavailable" });
  const { text } = provider.packet();
  assert.match(textOf(await pair(text, { connection: "notes" })), /HTTP 503: temporarily_unavailable.*may be spent/);
  provider.answer = (response) => json(response, 400, { error: "invalid_grant", error_description: "It has expired." });
  const expired = await pair(provider.packet().text, { connection: "notes" });
  assert.match(textOf(expired), /Notes was not paired.*HTTP 400: It has expired\..*new packet/);
  provider.answer = undefined;
  assert.match(textOf(await pair(text, { connection: "notes" })), /used before/);
  const states = await product.app.store.models.pairingPackets.findAll({ order: [["createdAt", "ASC"]] });
  assert.deepEqual(states.map(({ state }) => state).sort(), ["refused", "unknown"]);
  assert.equal(await product.app.store.models.accounts.count(), 0);
  await client.close();
});

it("the account is kept where the test of the connection fails, and the answer says so", async () => {
  await using provider = Object.assign(await startPairingProvider(), { [Symbol.asyncDispose]: () => provider.close() });
  await using product = await startProduct({ connections: { notes: connection(provider.url) } });
  const { client, pair } = await paired(product);
  provider.answer = (response) => json(response, 200, { access_token: "not-valid-at-the-service-0123456789" });
  const answer = await pair(provider.packet().text);
  assert.match(textOf(answer), /Notes is paired\..*its test failed: .*/);
  assert.doesNotMatch(JSON.stringify(answer), /not-valid-at/);
  await client.close();
});

it("a replay is refused after a restart too", async () => {
  const provider = await startPairingProvider();
  const connections = { notes: connection(provider.url) };
  const first = await startProduct({ connections });
  const { text } = provider.packet();
  const before = await paired(first);
  assert.match(textOf(await before.pair(text)), /is paired/);
  await before.client.close();
  await first.stop();
  await using second = await startProduct({ connections, directory: first.directory });
  const after = await paired(second, "another");
  assert.match(textOf(await after.pair(text)), /used before/);
  assert.equal(provider.redeemed().length, 1);
  await after.client.close();
  await second.stop();
  await provider.close();
});

it("the audit tells pairing, and why nothing could be paired", async () => {
  await using provider = Object.assign(await startPairingProvider(), { [Symbol.asyncDispose]: () => provider.close() });
  await using product = await startProduct({
    connections: {
      plain: connection(provider.url, { auth: { method: "none" }, label: "Plain" }),
      api: {
        ...connection(provider.url),
        type: "http",
        label: "Api",
        url: undefined,
        baseUrl: provider.url,
        endpoints: [{ name: "get_it", method: "GET", path: "/it" }],
      },
    },
  });
  const { client, pair } = await paired(product);
  const packet = provider.packet().text;
  assert.match(textOf(await pair(packet)), /Api: connections of type http cannot redeem/);
  assert.match(textOf(await pair(packet, { connection: "plain" })), /Plain \(mcp\) does not support pairing/);
  assert.deepEqual(provider.redeemed(), []);
  await client.close();
  await product.stop();
  await using again = await startProduct({
    connections: { notes: connection(provider.url) },
    directory: product.directory,
  });
  const later = await paired(again);
  await later.pair(packet, { connection: "notes" });
  await later.client.close();
  const events = await again.app.store.models.auditEvents.findAll({
    where: { toolName: "pair" },
    order: [["id", "ASC"]],
  });
  const told = events.map(({ action, connectionSlug, decision, outcome, outcomeCode, argumentsDigest }) => [
    action,
    connectionSlug,
    decision,
    outcome,
    outcomeCode,
    argumentsDigest?.length,
  ]);
  assert.deepEqual(told, [
    ["connection.pairing_unavailable", null, "refuse", "refused", "pairing_unavailable", 64],
    ["connection.pairing_unavailable", "plain", "refuse", "refused", "pairing_unavailable", 64],
    [null, "notes", "allow", "ok", null, 64],
  ]);
  assert.match(events[0]?.reason ?? "", /type http/);
});

test("a paired account is refreshed at the provider, and ends where the provider says so", async () => {
  await using provider = Object.assign(await startPairingProvider(), { [Symbol.asyncDispose]: () => provider.close() });
  let now = Date.now();
  await using product = await startProduct({
    connections: { notes: connection(provider.url) },
    clock: () => now,
  });
  const { client, pair } = await paired(product);
  const get = () => client.callTool({ name: "notes__get_note", arguments: {} });
  provider.refresh = (response, body) => {
    const form = new URLSearchParams(body);
    assert.deepEqual(
      [...form.entries()],
      [
        ["grant_type", "refresh_token"],
        ["refresh_token", "refresh-1"],
      ],
    );
    provider.valid.add("access-2-0123456789");
    json(response, 200, { access_token: "access-2-0123456789", refresh_token: "refresh-2", expires_in: 60 });
  };
  await pair(provider.packet({ grant: { refresh_token: "refresh-1", expires_in: 60 } }).text);
  await served(product);
  assert.equal(textOf(await get()), "get_note");
  now += 61_000;
  assert.equal(textOf(await get()), "get_note");
  assert.equal(provider.seen.at(-1)?.authorization, "Bearer access-2-0123456789");

  provider.refresh = (response) => json(response, 400, { error: "invalid_grant" });
  now += 61_000;
  const ended = await get();
  assert.deepEqual([ended.isError, /sign-in/.test(textOf(ended))], [true, true]);
  await client.close();
});

/** Resolves when the tools of the only connection are served. */
async function served({ app }: Product): Promise<void> {
  while (app.registry.connections().every(({ tools }) => tools.length === 0)) {
    await new Promise<void>((resolve) => {
      const stop = app.registry.onChange(() => {
        stop();
        resolve();
      });
    });
  }
}
