/** The parts of pairing: what a packet says, what an answer holds, who may redeem it, and where it may go. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { UpstreamError } from "../adapters/contract.ts";
import { readTokens, wordsOf } from "../adapters/pairing/answer.ts";
import { MAX_PACKET, parsePacket } from "../adapters/pairing/packet.ts";
import type { ServedConnection } from "../server/connections/types.ts";
import { PEOPLE_ISSUER } from "../server/people/people.ts";
import { type Principal, principalKey } from "../server/people/principal.ts";
import { principalMay } from "../server/people/principal-permissions.ts";
import { createAccounts } from "../server/signin/accounts.ts";
import { createPackets } from "../server/signin/packets.ts";
import { createPairing } from "../server/signin/pairing.ts";
import { pairingFetch } from "../server/signin/pairing-fetch.ts";
import { keyringOf } from "../server/vault/keyring.ts";
import { connectionFile, openRooms } from "./fixtures/connection-rooms.ts";
import { databases, storeFor } from "./fixtures/databases.ts";
import { type json, startPairingProvider } from "./fixtures/pairing-provider.ts";
import { silentLog } from "./fixtures/silent-log.ts";
import { listen } from "./fixtures/upstreams/listen.ts";

const CLAIM = "b3f1c0a85e7d4d2f9a61";
const LINE = `jackfield-pair: https://mcp.notes.example/ ${CLAIM}`;

describe("a packet", () => {
  const packet = { origin: "https://mcp.notes.example", claim: CLAIM, scope: undefined };
  for (const [name, text] of [
    ["alone", LINE],
    ["in text for people", `Connect to Notes.\r\n\r\nPaste this:\r\n    ${LINE}\r\nIt works once.`],
    ["quoted, in any case and with blanks", `> Jackfield-Pair :\thttps://mcp.notes.example/any/path?x=1   ${CLAIM}  `],
    ["twice the same", `${LINE}\n${LINE}`],
    ["in code marks", `\`${LINE}\``],
  ] as const) {
    it(`is read: ${name}`, () => assert.deepEqual(parsePacket(text), packet));
  }

  it("may name its scope, whose order does not matter", () => {
    const read = parsePacket(`${LINE} scope="write read write"`);
    assert.deepEqual(read, { ...packet, scope: ["read", "write"] });
  });

  for (const [name, text] of [
    ["no line at all", `see ${LINE}`],
    ["two different lines", `${LINE}\n${LINE}x`],
    ["no claim", "jackfield-pair: https://mcp.notes.example/"],
    ["a short claim", "jackfield-pair: https://mcp.notes.example/ abc"],
    ["a claim with other characters", `${LINE}"; rm`],
    ["an unknown rest", `${LINE} scope=read`],
    ["an empty scope", `${LINE} scope=" "`],
    ["a scope that is none", `${LINE} scope="a\\b"`],
    ["another kind of URL", `jackfield-pair: ftp://mcp.notes.example/ ${CLAIM}`],
    ["no URL", `jackfield-pair: mcp.notes.example ${CLAIM}`],
    ["a URL with a login", `jackfield-pair: https://user:word@mcp.notes.example/ ${CLAIM}`],
    ["more than a packet holds", LINE + "x".repeat(MAX_PACKET)],
  ] as const) {
    it(`is refused with words that give nothing of it away: ${name}`, () => {
      const read = parsePacket(text);
      assert.ok("problem" in read);
      assert.doesNotMatch(read.problem, /b3f1c0|notes\.example|word/);
    });
  }

  it("is read in linear time", () => {
    const started = performance.now();
    for (const filler of [" ", "\t>", "`*", "jackfield-pair", "jackfield-pair:  ", "\n"])
      parsePacket(filler.repeat(Math.floor(MAX_PACKET / filler.length)));
    assert.ok(performance.now() - started < 1_000);
  });
});

describe("the answer of a provider", () => {
  const read = (body: unknown, scope?: string[]) => readTokens(JSON.stringify(body), scope);

  it("holds tokens, expiry and scope", () => {
    const body = { access_token: "a", token_type: "bearer", refresh_token: "r", expires_in: "60", scope: "b a" };
    const tokens = { accessToken: "a", refreshToken: "r", expiresIn: 60, scope: "a b" };
    assert.deepEqual(read(body), { tokens });
    assert.deepEqual(read(body, ["a", "b"]), { tokens });
  });

  it("without a scope grants the packet's", () => {
    assert.deepEqual(read({ access_token: "a" }, ["a", "b"]), { tokens: { accessToken: "a", scope: "a b" } });
    assert.deepEqual(read({ access_token: "a" }), { tokens: { accessToken: "a" } });
  });

  for (const [name, body, scope] of [
    ["no token", { scope: "a" }],
    ["a token that breaks a header", { access_token: "a\r\nX: y" }],
    ["another type of token", { access_token: "a", token_type: "mac" }],
    ["an expiry that is none", { access_token: "a", expires_in: "soon" }],
    ["an expiry in the past", { access_token: "a", expires_in: -1 }],
    ["a refresh token that is none", { access_token: "a", refresh_token: 7 }],
    ["a scope that is none", { access_token: "a", scope: ["a"] }],
    ["a wider scope than the packet's", { access_token: "a", scope: "a b" }, ["a"]],
    ["a narrower scope than the packet's", { access_token: "a", scope: "a" }, ["a", "b"]],
    ["an empty scope instead of the packet's", { access_token: "a", scope: "" }, ["a"]],
    ["a list", [{ access_token: "a" }]],
    ["null", null],
  ] as const) {
    it(`is refused: ${name}`, () => assert.ok("problem" in read(body, scope && [...scope])));
  }

  it("is quoted in one bounded line without the claim", () => {
    const said = (body: unknown) => wordsOf(JSON.stringify(body), CLAIM);
    assert.equal(said({ error: "invalid_grant", error_description: "Expired.\nAsk  again." }), "Expired. Ask again.");
    assert.equal(said({ error: "invalid_grant" }), "invalid_grant");
    assert.equal(said({ error_description: `${CLAIM} is unknown: ${LINE}` }), "[claim] is unknown: [packet]");
    assert.ok(said({ error: "x".repeat(5_000) }).length <= 300);
    assert.equal(wordsOf("<html>", CLAIM), "");
  });
});

describe("the fetch of a redemption", () => {
  const options = { fetch: globalThis.fetch, claimed: () => true };

  it("reaches the configured origin only, and only when the packet was claimed", async () => {
    await using provider = Object.assign(await startPairingProvider(), {
      [Symbol.asyncDispose]: () => provider.close(),
    });
    const post = (fetch: typeof globalThis.fetch, url: string) => fetch(url, { method: "POST", body: "{}" });
    const refusal = (error: unknown) => error instanceof UpstreamError && error.processed === "no";
    const elsewhere = pairingFetch({ ...options, origin: "https://notes.example" });
    await assert.rejects(post(elsewhere, provider.url), refusal);
    const early = pairingFetch({ ...options, origin: provider.origin, claimed: () => false });
    await assert.rejects(post(early, provider.url), refusal);
    assert.equal(provider.seen.length, 0);
    const ready = pairingFetch({ ...options, origin: provider.origin });
    assert.equal((await post(ready, provider.url)).status, 401);
  });

  it("gives up on an answer that is too large, or never ends", async () => {
    await using server = await listening((url, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (url === "/large") response.end("x".repeat(65 * 1024));
      else response.write("data: x\n\n");
    });
    const { origin } = new URL(server.url);
    const fetch = pairingFetch({ ...options, origin, totalMs: 300 });
    await assert.rejects(fetch(`${origin}/large`), { code: "result_too_large" });
    await assert.rejects(fetch(`${origin}/endless`));
  });
});

for (const database of databases) {
  test(`a packet is claimed once, whoever tries, also after the key was changed (${database.name})`, {
    skip: database.skip,
  }, async (t) => {
    const store = await storeFor(t, database);
    const clock = () => Date.now();
    const id = (letter: string) => letter.repeat(26);
    const use = { organizationId: id("1"), connectionId: id("2"), principalKey: "a".repeat(64) };
    const [old, young] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const packets = createPackets({ store, keyring: keyringOf(old), clock });
    const claims = await Promise.all(Array.from({ length: 8 }, () => packets.claim(CLAIM, use)));
    const [claim, ...others] = claims.filter((each) => each !== undefined);
    assert.equal(others.length, 0);
    await claim?.settle("redeemed");
    await claim?.release();
    assert.equal(await packets.claim(CLAIM, { ...use, connectionId: id("3") }), undefined);
    const rotated = createPackets({ store, keyring: keyringOf(young, old), clock });
    assert.equal(await rotated.claim(CLAIM, use), undefined);

    const second = await rotated.claim("another", use);
    await second?.release();
    assert.ok(await rotated.claim("another", use));
    const rows = await store.models.pairingPackets.findAll({ order: [["createdAt", "ASC"]] });
    assert.deepEqual(rows.map(({ state }) => state).sort(), ["claimed", "redeemed"]);
    assert.doesNotMatch(JSON.stringify(rows), new RegExp(CLAIM));
  });
}

test("an account of everyone may be paired by who may change connections, one's own by anybody", async (t) => {
  const store = await storeFor(t);
  const organizationId = "1".repeat(26);
  const person = async (personId: string, role?: "admin" | "member") => {
    if (role) await store.models.members.create({ organizationId, personId, role });
    const key = principalKey(PEOPLE_ISSUER, personId);
    const common = {
      organizationId,
      scopes: new Set([]),
      tokenId: "t",
      clientKey: "c",
      endpointIds: [],
      variables: {},
    };
    return { ...common, kind: "person", issuer: PEOPLE_ISSUER, subject: personId, name: personId, key } as const;
  };
  const admin = await person("A".repeat(26), "admin");
  const pairing = createPairing({
    accounts: { save: () => Promise.reject(new Error("nothing is saved here")) },
    packets: createPackets({ store, keyring: keyringOf(Buffer.alloc(32, 1)), clock: Date.now }),
    sessions: { use: () => Promise.reject(new Error("nothing is opened here")) },
    fetchFor: () => Promise.reject(new Error("nothing is sent here")),
    connected: () => undefined,
    log: silentLog,
    mayConnect: (principal) => principalMay(store, principal, "connections:write"),
    env: { SET: "x" },
    identity: { name: "jackfield", version: "0" },
    hop: { header: "x-hop", value: "1" },
  });
  const shared = connectionOf({ subject: "workspace" });
  const own = connectionOf({ subject: "user" });
  const allowed = async (principal: typeof admin) => [
    await pairing.allowed(shared, principal),
    await pairing.allowed(own, principal),
  ];
  assert.deepEqual(await allowed(admin), [true, true]);
  assert.deepEqual(await allowed(await person("B".repeat(26), "member")), [false, true]);
  assert.deepEqual(await allowed(await person("C".repeat(26))), [false, true]);
  assert.deepEqual(await allowed({ ...admin, organizationId: "2".repeat(26) }), [false, true]);
  const agent = { ...admin, kind: "agent" as const };
  assert.equal(await pairing.allowed(shared, agent), false);

  const kinds = [
    shared,
    connectionOf({ auth: { method: "oauth" } }),
    connectionOf({ type: "http" }),
    connectionOf({ config: { command: ["x"] } }),
    connectionOf({ config: { url: "https://a.example/mcp", env: { KEY: `\${env:UNSET}` } } }),
    connectionOf({ config: { url: "https://a.example/mcp", env: { KEY: `\${env:SET}` } } }),
  ].map((connection) => pairing.obstacle(connection));
  assert.deepEqual(
    kinds.map((obstacle) => obstacle?.kind),
    [undefined, "unsupported", "adapter", "adapter", "missing_variable", undefined],
  );
  assert.match(kinds[4]?.text ?? "", /Missing UNSET/);
});

test("an account of everyone is the deployment's, bound to the connection's address, and says who gave it", async (t) => {
  await using provider = Object.assign(await startPairingProvider(), { [Symbol.asyncDispose]: () => provider.close() });
  const { store, shared, sessions, connection } = await openRooms(t, {
    "connections/notes.yml": connectionFile(provider.url, "auth: { method: oauth, pairing: true }"),
  });
  const keyring = keyringOf(Buffer.alloc(32, 1));
  const accounts = createAccounts({ store, keyring, bus: shared.bus, clock: Date.now });
  t.after(() => accounts.close());
  const pairing = createPairing({
    accounts,
    packets: createPackets({ store, keyring, clock: Date.now }),
    sessions,
    fetchFor: async () => globalThis.fetch,
    mayConnect: async () => true,
    connected: () => undefined,
    log: silentLog,
    env: {},
    identity: { name: "jackfield", version: "0" },
    hop: { header: "x-hop", value: "1" },
  });
  const served = connection("notes");
  const person: Principal = {
    kind: "person",
    organizationId: served.organizationId,
    issuer: PEOPLE_ISSUER,
    subject: "A".repeat(26),
    name: "Ada",
    key: principalKey(PEOPLE_ISSUER, "A".repeat(26)),
    scopes: new Set(["mcp:pair"]),
    tokenId: "t",
    clientKey: "c",
    endpointIds: [],
    variables: {},
  };
  const { text, grant } = provider.packet({ grant: { refresh_token: "refresh-1", expires_in: 60, scope: "read" } });
  const outcome = await pairing.redeem(served, person, text);
  assert.partialDeepStrictEqual(outcome, { kind: "paired", scope: "read" });
  const account = await accounts.find(served.id, "0".repeat(64));
  assert.ok(account);
  assert.partialDeepStrictEqual(account, {
    boundOrigin: provider.origin,
    boundResource: provider.url,
    tokenEndpoint: `${provider.origin}/.well-known/pairing/token`,
    scopesGranted: "read",
    connectedBy: `${PEOPLE_ISSUER} ${person.subject}`,
  });
  assert.deepEqual(accounts.tokens(account), { accessToken: grant.access_token, refreshToken: "refresh-1" });
  assert.equal(await accounts.find(served.id, person.key), undefined);
});

function connectionOf(part: Partial<ServedConnection>): ServedConnection {
  return {
    id: "4".repeat(26),
    slug: "notes",
    type: "mcp",
    label: "Notes",
    description: "",
    aliases: [],
    config: { url: "https://a.example/mcp" },
    auth: { method: "oauth", pairing: true },
    environmentId: "5".repeat(26),
    organizationId: "1".repeat(26),
    subject: "workspace",
    required: false,
    asks: "none",
    review: "patterns",
    access: { read: [], write: [], approval: { tools: {} }, disable: [], resources: [], prompts: [], suggested: false },
    admits: { resource: () => false, prompt: () => false },
    tools: [],
    prompts: [],
    resources: [],
    templates: [],
    promptNames: new Map(),
    state: "ok",
    revision: "r",
    ...part,
  };
}

async function listening(answer: (url: string, response: Parameters<typeof json>[0]) => unknown) {
  const server = await listen((request, response) => void answer(request.url ?? "", response));
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() });
}
