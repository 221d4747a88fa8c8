/** Pairing through the whole product: what callers see, what the provider hears, and what is kept. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Scope } from "../server/people/principal.ts";
import { type AnyClient, connect, connectV2, FLAVOURS, type Flavour, textOf } from "./fixtures/clients.ts";
import { type PairingProvider, startPairingProvider } from "./fixtures/pairing-provider.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

const PAIRING: readonly Scope[] = ["mcp:read", "mcp:write", "mcp:pair"];
const REDEEM = "/.well-known/pairing/redeem";

const connection = (url: string, more: object = {}) => ({
  type: "mcp",
  url,
  auth: { method: "oauth", pairing: true },
  subject: "user",
  access: { read: { tools: ["get_*"] }, write: { tools: ["put_*"] } },
  ...more,
});

interface Answer {
  isError?: boolean | undefined;
  structuredContent?: unknown;
  _meta?: unknown;
}

interface Caller {
  readonly client: AnyClient;
  call(tool: string, args?: Record<string, unknown>): Promise<Answer>;
}

function codeOf(answer: Answer): string | undefined {
  const { _meta }: { _meta?: { "jackfield/error"?: { code?: string } } } = JSON.parse(JSON.stringify(answer));
  return _meta?.["jackfield/error"]?.code;
}

function toolsIn(answer: Answer): { name: string; state?: string }[] {
  return JSON.parse(JSON.stringify(answer.structuredContent)).tools;
}

describe("pairing", () => {
  let notes: PairingProvider;
  let other: PairingProvider;
  let product: Product;
  const clients: AnyClient[] = [];
  before(async () => {
    [notes, other] = await Promise.all([startPairingProvider(), startPairingProvider()]);
    product = await startProduct({
      connections: {
        notes: connection(notes.url, { label: "Notes" }),
        team: connection(other.url, { label: "Team wiki", subject: "workspace" }),
        reader: connection(other.url, { label: "Reader", access: { preset: "read-only", ...connection("").access } }),
        plain: connection(other.url, { label: "Plain", auth: { method: "none" } }),
      },
      endpoints: {
        default: {},
        one: { tools: { forbid: ["reader__*"] } },
        closed: { tools: { allow: ["notes__get_*"] } },
        guarded: { tools: { allow: [{ tool: "notes__*", args: { id: ["*"] } }] } },
        open: { tools: { allow: ["notes__pair", "notes__get_*"] } },
        none: { tools: { forbid: ["*__pair"] } },
        shared: { audience: "shared" },
      },
    });
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await product[Symbol.asyncDispose]();
    await Promise.all([notes.close(), other.close()]);
  });

  async function caller(
    name: string,
    {
      scopes = PAIRING,
      flavour = "v2-modern",
      endpoint = "one",
    }: { scopes?: readonly Scope[]; flavour?: Flavour; endpoint?: string } = {},
  ): Promise<Caller> {
    const client = await connect(flavour, product.endpoint(endpoint), await product.token({ name, scopes, endpoint }));
    clients.push(client);
    return { client, call: (tool, args = {}) => client.callTool({ name: tool, arguments: args }) };
  }
  const store = () => product.app.store.models;
  /** What both providers heard during some work. */
  const heard = async (work: () => Promise<unknown>) => {
    const at = [notes.seen.length, other.seen.length] as const;
    await work();
    return [notes.seen.slice(at[0]), other.seen.slice(at[1])].map((seen) => seen.map(({ path }) => path));
  };
  const refused = async (answer: Promise<Answer>, code: string, words: RegExp) => {
    const result = await answer;
    assert.deepEqual([result.isError, codeOf(result)], [true, code], textOf(result));
    assert.match(textOf(result), words);
  };

  for (const flavour of FLAVOURS) {
    it(`${flavour}: a connection without an account says how to pair it, is paired, and works`, async () => {
      const { client, call } = await caller(`first-${flavour}`, { flavour });
      for (const args of [
        { query: "pair notes" },
        { query: "notes" },
        { connection: "notes" },
        { query: "select:notes__pair" },
      ]) {
        const found = toolsIn(await call("tool_search", args)).find(({ name }) => name === "notes__pair");
        assert.deepEqual([found?.name, found?.state], ["notes__pair", undefined], JSON.stringify(args));
      }
      const { text, claim } = notes.packet({ grant: { scope: "write read" }, scope: "read write" });
      const [atNotes, atOther] = await heard(async () => {
        const paired = await call("pair", { packet: text });
        assert.equal(textOf(paired), "Notes is paired. Granted scope: read write. Its test succeeded.");
        assert.deepEqual(paired.structuredContent, {
          status: "paired",
          connection: "notes",
          scope: "read write",
          health: { state: "healthy" },
        });
      });
      assert.deepEqual(
        atNotes?.filter((path) => path !== "/mcp"),
        [REDEEM],
      );
      assert.deepEqual(atOther, []);
      const redemption = notes.seen.findLast(({ path }) => path === REDEEM);
      const { method, contentType, authorization, body } = redemption ?? {};
      assert.deepEqual(
        [method, contentType, authorization, body],
        ["POST", "application/json", undefined, JSON.stringify({ claim })],
      );

      await toolsOf("notes");
      assert.equal(textOf(await call("notes__get_note")), "get_note");
      await call("tool_search", { query: "pair notes" });
      const { tools } = await client.listTools();
      assert.ok(!tools.some(({ name }) => name.endsWith("__pair")), "it is found, never listed");
    });
  }

  it("goes through <connection>__pair by name, in another spelling and through tool_write, never through tool_read", async () => {
    const { call } = await caller("doors", { endpoint: "default" });
    for (const pair of [
      (packet: string) => call("notes__pair", { packet }),
      (packet: string) => call("tool_write", { name: "notes__pair", arguments: { packet } }),
      (packet: string) => call("pair", { packet, connection: "Notes" }),
    ]) {
      const result = await pair(notes.packet().text);
      assert.match(textOf(result), /Notes is paired\. The service named no scope/);
    }
    const { text } = notes.packet();
    const sent = await heard(() =>
      refused(call("tool_read", { name: "notes__pair", arguments: { packet: text } }), "class_refused", /tool_write/),
    );
    assert.deepEqual(sent, [[], []]);
    await refused(call("notes__pair"), "invalid_arguments", /notes__pair needs "packet"/);
    await refused(call("pair", { packet: 7 }), "invalid_arguments", /pair needs "packet"/);
  });

  it("needs the connection's name only where this caller can pair several", async () => {
    const packet = () => notes.packet().text;
    const several = await caller("several", { endpoint: "default" });
    await refused(several.call("pair", { packet: packet() }), "invalid_arguments", /notes, reader\. Name one/);
    const { call } = await caller("several");
    // The account of the team is not this caller's to give, so one is left.
    assert.match(textOf(await call("pair", { packet: packet() })), /Notes is paired/);
  });

  it("refuses a packet of another origin before anything is sent, and spoils it for nobody", async () => {
    const { call } = await caller("elsewhere", { endpoint: "default" });
    const foreign = other.packet();
    const sent = await heard(() =>
      refused(call("notes__pair", { packet: foreign.text }), "packet_invalid", /another service.*127\.0\.0\.1/),
    );
    assert.deepEqual(sent, [[], []]);
    assert.match(textOf(await call("reader__pair", { packet: foreign.text })), /Reader is paired/);
    await refused(call("notes__pair", { packet: "no packet at all" }), "packet_invalid", /no line "jackfield-pair/);
  });

  it("follows no redirect, not even within the origin", async () => {
    const { call } = await caller("redirected");
    for (const location of [`${other.origin}${REDEEM}`, `${notes.origin}/elsewhere`]) {
      notes.answer = (response) => response.writeHead(307, { location }).end();
      const { text } = notes.packet();
      const sent = await heard(() => refused(call("pair", { packet: text }), "pairing_failed", /redirect/));
      assert.deepEqual(sent, [[REDEEM], []]);
    }
    notes.answer = undefined;
  });

  it("redeems a packet once: not again elsewhere, in other words, at the same time, or after a restart", async () => {
    const { call } = await caller("once");
    const { text, claim } = notes.packet();
    const line = text.split("\n").find((each) => each.includes("jackfield-pair")) ?? "";
    const [sent] = await heard(async () => {
      const results = await Promise.all(Array.from({ length: 6 }, () => call("pair", { packet: text })));
      const codes = results.map(codeOf).sort();
      assert.deepEqual(codes, [...Array(5).fill("packet_used"), undefined]);
      await refused(call("pair", { packet: `Again:\r\n${line} scope="read"` }), "packet_used", /used before/);
      const stranger = await caller("stranger");
      await refused(stranger.call("pair", { packet: line }), "packet_used", /new one/);
    });
    assert.equal(sent?.filter((path) => path === REDEEM).length, 1);
    const rows = await store().pairingPackets.findAll();
    assert.doesNotMatch(JSON.stringify(rows), new RegExp(claim));
  });

  it("keeps nothing where the scope is not the packet's", async () => {
    const { call } = await caller("scope");
    const { text, grant } = notes.packet({ scope: "read", grant: { scope: "read admin" } });
    await refused(call("pair", { packet: text }), "pairing_failed", /not kept.*"admin read".*"read"/);
    assert.ok(!notes.seen.some(({ authorization }) => authorization?.includes(grant.access_token)));
    const { claim: _claim, ...same } = notes.packet({ scope: "read" });
    assert.match(textOf(await call("pair", { packet: same.text })), /Granted scope: read\./);
  });

  it("gives each principal an account of its own, and a later packet replaces it", async () => {
    const [first, second] = [await caller("own-1"), await caller("own-2")];
    const packets = [notes.packet(), notes.packet(), notes.packet()] as const;
    const used = async (by: Caller) => {
      await by.call("notes__get_note");
      return notes.seen.at(-1)?.authorization;
    };
    await first.call("pair", { packet: packets[0].text });
    await toolsOf("notes");
    await refused(second.call("notes__get_note"), "authorization_required", /Notes needs a sign-in/);
    await second.call("pair", { packet: packets[1].text });
    assert.equal(await used(first), `Bearer ${packets[0].grant.access_token}`);
    assert.equal(await used(second), `Bearer ${packets[1].grant.access_token}`);
    await first.call("pair", { packet: packets[2].text });
    assert.equal(await used(first), `Bearer ${packets[2].grant.access_token}`);
  });

  it("leaves local policy over whatever scope was granted", async () => {
    const { call } = await caller("ceiling", { endpoint: "default" });
    const { text } = other.packet({ scope: "admin", grant: { scope: "admin" } });
    assert.match(textOf(await call("reader__pair", { packet: text })), /Granted scope: admin/);
    await toolsOf("reader");
    assert.equal(textOf(await call("reader__get_note")), "get_note");
    await assert.rejects(call("reader__put_note"), /Unknown tool/);
  });

  it("says who can pair what is not the caller's, without a link, and which scope is missing", async () => {
    const { text } = other.packet();
    const sent = await heard(async () => {
      const { call } = await caller("rights");
      const answer = await call("team__pair", { packet: text });
      assert.equal(codeOf(answer), "authorization_required");
      assert.match(textOf(answer), /Team wiki belongs to everyone.*administrator, connections:write/);
      assert.doesNotMatch(JSON.stringify(answer), /https?:/);
      const narrow = await caller("narrow", { scopes: ["mcp:read", "mcp:write"] });
      await refused(narrow.call("notes__pair", { packet: text }), "scope_refused", /mcp:pair/);
    });
    assert.deepEqual(sent, [[], []]);
  });

  it("falls under the grants and denials of its name", async () => {
    const { text } = notes.packet();
    const sent = await heard(async () => {
      for (const endpoint of ["closed", "guarded", "none"]) {
        const { call } = await caller("policy", { endpoint });
        assert.deepEqual(
          toolsIn(await call("tool_search", { query: "pair notes" })).filter(({ name }) => name.endsWith("__pair")),
          [],
        );
        await assert.rejects(call("notes__pair", { packet: text }), /Unknown tool/);
        await refused(
          call("pair", { packet: text, connection: "notes" }),
          "pairing_unavailable",
          /policy does not grant notes__pair/,
        );
        await refused(call("pair", { packet: text }), "pairing_unavailable", /policy does not grant notes__pair/);
      }
    });
    assert.deepEqual(sent, [[], []]);
    const { call } = await caller("policy", { endpoint: "open" });
    assert.match(textOf(await call("pair", { packet: text })), /Notes is paired/);
  });

  it("does not exist for one's own accounts where others listen", async () => {
    const { call } = await caller("shared", { endpoint: "shared" });
    const found = await call("tool_search", { query: "pair notes" });
    assert.ok(!toolsIn(found).some(({ name }) => name === "notes__pair"));
    await refused(
      call("pair", { packet: notes.packet().text, connection: "notes" }),
      "pairing_unavailable",
      /private endpoint/,
    );
  });

  it("tells the caller's own open streams that the list may have changed", async () => {
    const events = { own: 0, other: 0 };
    const own = await streaming("streams-1", () => (events.own += 1));
    const stranger = await streaming("streams-2", () => (events.other += 1));
    const before = events.other;
    await own.callTool({ name: "notes__pair", arguments: { packet: notes.packet().text } });
    while (events.own === 0) await new Promise((resolve) => setImmediate(resolve));
    await stranger.listTools();
    assert.equal(events.other, before);
  });

  /** A modern client with an open listen stream. */
  async function streaming(name: string, changed: () => void) {
    const token = await product.token({ name, endpoint: "one", scopes: PAIRING });
    const client = await connectV2(product.endpoint("one"), token, "modern", {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } },
    });
    clients.push(client);
    return client;
  }

  /** Resolves when a connection's tools are served. */
  async function toolsOf(slug: string): Promise<void> {
    const { registry } = product.app;
    const served = () => registry.connections().find((each) => each.slug === slug)?.tools.length ?? 0;
    while (served() === 0) {
      await new Promise<void>((resolve) => {
        const stop = registry.onChange(() => {
          stop();
          resolve();
        });
        if (served() > 0) resolve();
      });
    }
  }
});
