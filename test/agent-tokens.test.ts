import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type AgentTokens, createAgentTokens, type NewAgentToken } from "../server/people/agent-tokens.ts";
import { createOrganization } from "../server/people/organizations.ts";
import { isToken, makeToken } from "../server/people/token-format.ts";
import { openMemoryState } from "../server/shared-state/memory.ts";
import { storeFor } from "./fixtures/databases.ts";
import { inSecondProcess } from "./fixtures/run-second-process.ts";
import { silentLog as log } from "./fixtures/silent-log.ts";

const FORM = /^jkf_agt_[A-Za-z0-9_-]{43}_[0-9A-Za-z]{6}$/;
const START = Date.UTC(2026, 10, 30, 12);

async function room(t: TestContext) {
  const store = await storeFor(t);
  const shared = await openMemoryState({ store, log });
  const time = { now: START };
  const tokens = createAgentTokens({ store, bus: shared.bus, clock: () => time.now, log });
  const organization = await createOrganization(store, { slug: "acme", name: "Acme" });
  t.after(async () => {
    await tokens.close();
    await shared.close();
  });
  const create = (changes: Partial<NewAgentToken> = {}) =>
    tokens.create({
      organizationId: organization.id,
      name: "night-agent",
      endpointIds: [organization.endpointId],
      scopes: ["mcp:read", "mcp:write"],
      variables: { team: "support" },
      createdBy: "test",
      ...changes,
    });
  return { store, shared, time, tokens, organization, create };
}

/** Puts the row of a token into the state of a revoked one without telling anybody, to see what is remembered. */
async function revokeSilently({ store }: Awaited<ReturnType<typeof room>>, id: string): Promise<void> {
  await store.models.agentTokens.update({ revokedAt: new Date(START) }, { where: { id } });
}

const isValid = async (tokens: AgentTokens, token: string) => (await tokens.verify(token, {})) !== undefined;

test("a token has the form that scanners know, and a checksum that any changed character breaks", () => {
  const token = makeToken("agt");
  assert.match(token, FORM);
  assert.ok(isToken(token));
  for (let at = 8; at < token.length; at += 1) {
    const other = token[at] === "A" ? "B" : "A";
    assert.equal(isToken(token.slice(0, at) + other + token.slice(at + 1)), false, `character ${at}`);
  }
  for (const wrong of [
    "",
    "jkf_agt_",
    `${token} `,
    ` ${token}`,
    `${token}\n`,
    token.slice(1),
    token.toUpperCase(),
    token.replace("agt", "xyz"),
  ]) {
    assert.equal(isToken(wrong), false, JSON.stringify(wrong));
  }
});

test("a token stands for its agent, with its endpoints, scopes and variables", async (t) => {
  const { tokens, create, organization } = await room(t);
  const { token, id } = await create();
  assert.match(token, FORM);
  const principal = await tokens.verify(token, { ip: "127.0.0.1" });
  assert.ok(principal);
  assert.equal(principal.kind, "agent");
  assert.equal(principal.organizationId, organization.id);
  assert.equal(principal.name, "night-agent");
  assert.equal(principal.tokenId, id);
  assert.deepEqual(principal.endpointIds, [organization.endpointId]);
  assert.deepEqual([...principal.scopes], ["mcp:read", "mcp:write"]);
  assert.deepEqual(principal.variables, { team: "support" });
  assert.match(principal.key, /^[0-9a-f]{64}$/);
});

test("an agent is the same principal with each of its tokens, but each token is a client of its own", async (t) => {
  const { tokens, create } = await room(t);
  const [a, b, other] = [await create(), await create(), await create({ name: "another" })];
  const [first, second, third] = await Promise.all([a, b, other].map(({ token }) => tokens.verify(token, {})));
  assert.equal(first?.key, second?.key);
  assert.notEqual(first?.clientKey, second?.clientKey);
  assert.notEqual(first?.key, third?.key);
});

test("the token itself is stored nowhere", async (t) => {
  const { store, tokens, create, organization } = await room(t);
  const { token } = await create();
  const rows = JSON.stringify([await store.models.agentTokens.findAll(), await tokens.list(organization.id)]);
  assert.doesNotMatch(rows, new RegExp(token.slice(8, 51)));
  const [row] = await store.models.agentTokens.findAll();
  assert.match(row?.hash ?? "", /^[0-9a-f]{64}$/);
  const [listed] = await tokens.list(organization.id);
  assert.ok(listed);
  assert.equal("hash" in listed, false);
  assert.equal(listed.last4, token.slice(-4));
});

test("a well-formed token that was never made is refused", async (t) => {
  const { tokens } = await room(t);
  assert.equal(await tokens.verify(makeToken("agt"), {}), undefined);
});

test("a revoked token is refused at once by the process that revoked it", async (t) => {
  const { tokens, create, organization } = await room(t);
  const [one, two] = [await create(), await create()];
  assert.ok(await isValid(tokens, one.token));
  assert.equal(await tokens.revoke(organization.id, one.id), 1);
  assert.equal(await isValid(tokens, one.token), false);
  assert.ok(await isValid(tokens, two.token));
  assert.equal(await tokens.revoke(organization.id, one.id), 0);
});

test("revoking by the agent's name ends all of its tokens and no one else's", async (t) => {
  const { store, tokens, create, organization } = await room(t);
  const foreign = await createOrganization(store, { slug: "other", name: "Other" });
  const [one, two, another] = [await create(), await create(), await create({ name: "another" })];
  const same = await create({ organizationId: foreign.id });
  assert.equal(await tokens.revoke(organization.id, "night-agent"), 2);
  const valid = await Promise.all([one, two, another, same].map(({ token }) => isValid(tokens, token)));
  assert.deepEqual(valid, [false, false, true, true]);
  assert.equal(await tokens.revoke(organization.id, same.id), 0, "a token of another organization");
});

test("a token that another process revokes is refused within a second, although it was remembered as good", async (t) => {
  const { store, shared, tokens, create } = await room(t);
  const { token, id } = await create();
  assert.ok(await isValid(tokens, token));
  let heardAt = 0;
  const heard = new Promise<void>((resolve) => {
    shared.bus.subscribe("tokens", () => {
      heardAt = performance.now();
      resolve();
    });
  });
  assert.equal(await inSecondProcess(store, "revoke", id), 1);
  const revokedAt = performance.now();
  await heard;
  assert.equal(await isValid(tokens, token), false);
  assert.ok(heardAt - revokedAt < 1_000, `${heardAt - revokedAt} ms`);
});

test("a good token is remembered for 30 seconds, so that calls do not ask the database", async (t) => {
  const place = await room(t);
  const { token, id } = await place.create();
  assert.ok(await isValid(place.tokens, token));
  await revokeSilently(place, id);
  place.time.now = START + 29_999;
  assert.ok(await isValid(place.tokens, token));
  place.time.now = START + 30_000;
  assert.equal(await isValid(place.tokens, token), false);
});

test("a bad token is remembered for 5 seconds", async (t) => {
  const place = await room(t);
  const { token, id } = await place.create();
  await revokeSilently(place, id);
  assert.equal(await isValid(place.tokens, token), false);
  await place.store.models.agentTokens.update({ revokedAt: null }, { where: { id } });
  place.time.now = START + 4_999;
  assert.equal(await isValid(place.tokens, token), false);
  place.time.now = START + 5_000;
  assert.ok(await isValid(place.tokens, token));
});

test("a token ends at its expiry to the millisecond, remembered or not", async (t) => {
  const { tokens, create, time } = await room(t);
  const { token } = await create({ expiresAt: new Date(START + 1_000) });
  time.now = START + 999;
  assert.ok(await isValid(tokens, token));
  time.now = START + 1_000;
  assert.equal(await isValid(tokens, token), false);
});

test("a token bound to networks works from there only", async (t) => {
  const { tokens, create } = await room(t);
  const { token } = await create({ allowedNetworks: ["10.1.0.0/16", "2001:db8::/32"] });
  const from = async (ip?: string) => (await tokens.verify(token, ip === undefined ? {} : { ip })) !== undefined;
  assert.ok(await from("10.1.2.3"));
  assert.ok(await from("::ffff:10.1.2.3"));
  assert.ok(await from("2001:db8::1"));
  assert.equal(await from("10.2.0.1"), false);
  assert.equal(await from("::1"), false);
  assert.equal(await from(), false);
});

test("the last use is noted, at most once a minute", async (t) => {
  const { store, shared, tokens, create, time, organization } = await room(t);
  const { token } = await create();
  const beside = createAgentTokens({ store, bus: shared.bus, clock: () => time.now });
  const lastUse = async () => {
    await beside.close();
    await tokens.close();
    const [row] = await tokens.list(organization.id);
    return [row?.lastUsedAt?.getTime(), row?.lastUsedIp];
  };
  await tokens.verify(token, { ip: "10.0.0.1" });
  assert.deepEqual(await lastUse(), [START, "10.0.0.1"]);
  time.now = START + 59_000;
  await tokens.verify(token, { ip: "10.0.0.2" });
  await beside.verify(token, { ip: "10.0.0.2" });
  assert.deepEqual(await lastUse(), [START, "10.0.0.1"]);
  time.now = START + 60_000;
  await tokens.verify(token, { ip: "10.0.0.3" });
  assert.deepEqual(await lastUse(), [START + 60_000, "10.0.0.3"]);
});

test("a token needs a name, an endpoint, a scope and networks that are networks", async (t) => {
  const { create } = await room(t);
  for (const wrong of [
    { name: "" },
    { name: " a" },
    { name: "x".repeat(129) },
    { endpointIds: [] },
    { scopes: [] },
    { allowedNetworks: ["10"] },
  ]) {
    await assert.rejects(create(wrong), { code: "config_invalid" }, JSON.stringify(wrong));
  }
});

test("an organization starts with its environment and endpoint; its slug is taken once and has a form", async (t) => {
  const { store, organization } = await room(t);
  assert.equal((await store.models.environments.findByPk(organization.environmentId))?.slug, "main");
  assert.equal((await store.models.endpoints.findByPk(organization.endpointId))?.slug, "default");
  await assert.rejects(createOrganization(store, { slug: "acme", name: "Again" }), {
    code: "config_invalid",
    message: /acme already/,
  });
  for (const slug of ["", "Acme", "1a", "a_b", "a".repeat(49)]) {
    await assert.rejects(createOrganization(store, { slug, name: "x" }), { code: "config_invalid" }, slug);
  }
  assert.equal(await store.models.environments.count(), 1);
});
