import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, apiWithSession, apiWithToken, signedInMember, tokenWith } from "./fixtures/api-client.ts";
import { runToEnd } from "./fixtures/command.ts";
import { signedInAdmin } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { post, postModern } from "./fixtures/raw.ts";

const DAY = 86_400_000;

let product: Product;
let admin: Api;
let member: Api;
let now = Date.now();
before(async () => {
  product = await startProduct({
    clock: () => now,
    endpoints: {
      team: { label: "Team", principals: { roles: ["member"] } },
      agents: { label: "Agents", principals: { roles: ["admin"], agents: ["night-agent"] } },
    },
    env: { JACKFIELD_TRUSTED_PROXIES: "loopback" },
  });
  admin = await apiWithSession(product, await signedInAdmin(product));
  member = await apiWithSession(product, await signedInMember(product));
});
after(() => product[Symbol.asyncDispose]());

async function made(api: Api, wish: object): Promise<{ id: string; secret: string }> {
  const answer = await api.expect(201, "POST", "/tokens", wish);
  return { id: String(answer.at("token", "id")), secret: String(answer.at("secret")) };
}

const statusAt = async (endpoint: string, token: string) =>
  (await postModern(product.endpoint(endpoint), token, "tools/list")).status;

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

const own = { name: "laptop", endpoints: ["team"], scopes: ["mcp:read"] };

test("a member makes a token of their own, which works where they may go and calls in their name", async () => {
  const { id, secret } = await made(member, own);
  assert.match(secret, /^jkf_pat_/);
  assert.equal(await statusAt("team", secret), 200);
  const me = await (await apiWithToken(product, secret)).expect(200, "GET", "/me");
  assert.deepEqual([me.at("kind"), me.at("username"), me.at("permissions")], ["person", "mira", []]);
  await member.expect(204, "DELETE", `/tokens/${id}`);
  assert.equal(await statusAt("team", secret), 401);
});

test("what is beyond a member is refused, every part of it by its place", async () => {
  const wish = {
    name: "greedy",
    endpoints: ["team", "agents"],
    permissions: ["tools:use", "audit:read"],
    variables: { team: "finance" },
    allowedNetworks: ["10.0.0.0/99"],
    expiresInDays: 3000,
  };
  const answer = await member.expect(400, "POST", "/tokens", wish);
  const problems = answer.at("error", "problems") as { field: string }[];
  assert.deepEqual(
    problems.map(({ field }) => field),
    ["body.endpoints.1", "body.permissions.1", "body.variables", "body.allowedNetworks", "body.expiresAt"],
  );
});

test("a member makes no token of an agent, sees none and ends none", async () => {
  await member.expect(403, "POST", "/tokens", { ...own, kind: "agent", name: "night-agent" });
  const { id } = await made(admin, { ...own, kind: "agent", name: "night-agent", endpoints: ["agents"] });
  await member.expect(404, "GET", `/tokens/${id}`);
  await member.expect(404, "DELETE", `/tokens/${id}`);
  await member.expect(404, "POST", `/tokens/${id}/rotate`, {});
  const listed = await member.expect(200, "GET", "/tokens");
  assert.ok((listed.at("items") as { kind: string }[]).every(({ kind }) => kind === "own"));
});

test("a person's own token named like an agent is not that agent", async () => {
  const { secret } = await made(member, { ...own, name: "night-agent" });
  assert.equal(await statusAt("agents", secret), 404);
  const refused = await member.expect(400, "POST", "/tokens", { ...own, name: "night-agent", endpoints: ["agents"] });
  assert.equal(refused.at("error", "code"), "invalid_input");
});

test("a token goes no further when its person loses the role, and is dead when they are removed", async () => {
  const browser = await signedInMember(product, { username: "rhea", role: "admin" });
  const api = await apiWithSession(product, browser);
  const { secret } = await made(api, { ...own, permissions: ["connections:read", "members:write"] });
  const { secret: agent } = await made(api, {
    ...own,
    kind: "agent",
    name: "rheas",
    permissions: ["connections:read"],
  });
  const [byOwn, byAgent] = [await apiWithToken(product, secret), await apiWithToken(product, agent)];
  await byOwn.expect(200, "GET", "/health");
  await byAgent.expect(200, "GET", "/health");
  const { people, members } = product.app.store.models;
  const person = await people.findOne({ where: { username: "rhea" } });
  assert.ok(person);
  await members.update({ role: "member" }, { where: { personId: person.id } });
  await product.app.oauth.personChanged(person.id);
  await byOwn.expect(403, "GET", "/health");
  await byAgent.expect(403, "GET", "/health");
  assert.equal(await statusAt("team", secret), 200);
  await members.destroy({ where: { personId: person.id } });
  await product.app.oauth.personChanged(person.id);
  await byOwn.expect(401, "GET", "/me");
  assert.equal(await statusAt("team", secret), 401);
});

test("a token makes no token that may more than it, or goes where it does not", async () => {
  const maker = await apiWithToken(product, await tokenWith(product, "members:write", "connections:read"));
  const wish = { name: "child", kind: "agent", endpoints: ["default"] };
  await maker.expect(201, "POST", "/tokens", { ...wish, permissions: ["connections:read"] });
  await maker.expect(400, "POST", "/tokens", { ...wish, permissions: ["audit:read"] });
  await maker.expect(400, "POST", "/tokens", { ...wish, endpoints: ["agents"] });
  await maker.expect(403, "POST", "/tokens", { name: "own" });
});

test("a rotated token and its successor both work until the overlap is over", async () => {
  const first = await made(admin, {
    ...own,
    kind: "agent",
    name: "rotated",
    endpoints: ["default"],
    expiresInDays: 30,
  });
  const answer = await admin.expect(201, "POST", `/tokens/${first.id}/rotate`, { overlapHours: 2 });
  const [id, secret] = [String(answer.at("token", "id")), String(answer.at("secret"))];
  assert.equal(answer.at("token", "rotatedFrom"), first.id);
  const [old, successor] = [
    await product.app.tokens.verify(first.secret, {}),
    await product.app.tokens.verify(secret, {}),
  ];
  assert.equal(old?.key, successor?.key, "the same agent");
  const again = await admin.expect(409, "POST", `/tokens/${first.id}/rotate`, {});
  assert.equal(again.at("error", "code"), "conflict");
  now += 2 * 3_600_000;
  assert.equal(await product.app.tokens.verify(first.secret, {}), undefined);
  assert.ok(await product.app.tokens.verify(secret, {}));
  const [was, is] = await Promise.all([first.id, id].map((one) => admin.expect(200, "GET", `/tokens/${one}`)));
  assert.deepEqual([was?.at("state"), is?.at("state")], ["expired", "active"]);
  const life = Date.parse(String(is?.at("expiresAt"))) - Date.parse(String(is?.at("createdAt")));
  assert.equal(life, 30 * DAY);
  now -= 2 * 3_600_000;
});

test("a token is refused from outside its networks, as a trusted proxy tells the address, and noted where it came from", async () => {
  const { id, secret } = await made(admin, {
    ...{ kind: "agent", name: "fenced", endpoints: ["default"] },
    allowedNetworks: ["192.0.2.0/24", "2001:db8::/32"],
  });
  const from = async (ip: string) => (await post(product.url, secret, INITIALIZE, { "x-forwarded-for": ip })).status;
  assert.equal(await from("198.51.100.7"), 401);
  assert.equal((await post(product.url, secret, INITIALIZE)).status, 401, "the proxy itself");
  assert.equal(await from("192.0.2.44"), 200);
  assert.equal(await from("2001:db8::5"), 200);
  assert.equal(await from("192.0.2.44, 198.51.100.7"), 401, "only what the trusted proxy adds counts");
  const direct = await apiWithToken(product, secret);
  await direct.expect(401, "GET", "/me");
  await product.app.tokens.close();
  const shown = await admin.expect(200, "GET", `/tokens/${id}`);
  assert.equal(shown.at("lastUsedAddress"), "192.0.2.44");
  assert.notEqual(shown.at("lastUsedAt"), null);
});

test("making and ending tokens is in the audit, without the token", async () => {
  const { id, secret } = await made(admin, { ...own, kind: "agent", name: "audited" });
  await admin.expect(204, "DELETE", `/tokens/${id}`);
  await product.app.audit.flush();
  const rows = await product.app.audit.tail({ limit: 200 });
  const about = rows.filter(({ reason }) => reason?.includes(id));
  assert.deepEqual(
    about.map(({ rule, outcome }) => [rule, outcome]),
    [
      ["token_made", "ok"],
      ["revokeToken", "ok"],
      ["token_revoked", "ok"],
    ],
  );
  assert.ok(!JSON.stringify(rows).includes(secret.slice(8, 51)));
});

test("a sign-in of long ago is not enough to make a token at a browser", async () => {
  const api = await apiWithSession(product, await signedInMember(product, { username: "otto" }));
  await made(api, own);
  now += 16 * 60_000;
  const answer = await api.expect(403, "POST", "/tokens", own);
  assert.equal(answer.at("error", "code"), "recent_sign_in_required");
});

test("the command line makes a person's own token, rotates it, and lists whose it is", async () => {
  const env = {
    JACKFIELD_DATA_DIR: `${product.directory}/data`,
    JACKFIELD_CONFIG_DIR: `${product.directory}/config`,
    JACKFIELD_LOG: "silent",
  };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runToEnd([...args, "--json"], env);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const first = await run(
    "token",
    "create",
    "--name",
    "ci",
    "--for",
    "mira",
    "--endpoint",
    "team",
    "--network",
    "192.0.2.0/24",
    "--permissions",
    "tools:use",
  );
  const second = await run("token", "rotate", first.id, "--overlap", "1h");
  assert.equal(second.rotatedFrom, first.id);
  const rows = (await run("token", "list")) as { id: string; person: string; state: string; permissions: string[] }[];
  const found = [first.id, second.id].map((id) => rows.find((row) => row.id === id));
  assert.deepEqual(
    found.map((row) => row?.person),
    ["mira", "mira"],
  );
  assert.deepEqual(found[1]?.permissions, ["tools:use"]);
  assert.ok(await product.app.tokens.verify(second.token, { ip: "192.0.2.1" }));
});
