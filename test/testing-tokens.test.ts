/** Tokens that see the drafts of environments: what waits is tried by them alone until it is published. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createConnection } from "../server/connections/connection-edits.ts";
import { createEndpoint } from "../server/connections/endpoint-edits.ts";
import { setDraftMode, updateEnvironment } from "../server/connections/environment-edits.ts";
import { discardDraft, publishDraft } from "../server/connections/publication.ts";
import { type Api, apiWithSession, signedInMember } from "./fixtures/api-client.ts";
import { commandBeside } from "./fixtures/beside.ts";
import { textOf } from "./fixtures/clients.ts";
import { signedInAdmin } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { rawCaller } from "./fixtures/raw.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

const author = "ann";
const ERAS = ["legacy", "modern"] as const;

let shop: PlainUpstream;
let extra: PlainUpstream;
let product: Product;
let admin: Api;
let environmentId: string;

before(async () => {
  shop = await startPlainUpstream([plainTool("get_price")]);
  extra = await startPlainUpstream([plainTool("get_quokka"), plainTool("send_quokka")]);
  product = await startProduct({
    connections: {
      shop: { type: "mcp", url: shop.url, auth: { method: "none" }, access: { read: { tools: ["*"] } } },
    },
  });
  admin = await apiWithSession(product, await signedInAdmin(product));
  environmentId = product.app.registry.environments()[0]?.id ?? "";
  await setDraftMode(product.app.authoring, { environmentId, on: true });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await shop.close();
  await extra.close();
});
beforeEach(async () => {
  await discardDraft(product.app.authoring, { environmentId, author });
  await product.app.registry.reload();
  extra.calls.length = 0;
});

/** Drafts a connection, and waits until its tools were read. */
async function draftExtra(): Promise<void> {
  const { authoring, registry } = product.app;
  const access = { read: { tools: ["get_*"] }, write: { tools: ["send_*"], approval: "always" } };
  const entered = { type: "mcp", url: extra.url, auth: { method: "none" }, review: "patterns", access };
  const read = new Promise<void>((resolve) => {
    const look = () => {
      const drafted = registry.draft(environmentId)?.connections.find(({ slug }) => slug === "extra");
      if (drafted?.tools.length !== 2) return;
      stop();
      resolve();
    };
    const stop = registry.onChange(look);
  });
  await createConnection(authoring, { environmentId, slug: "extra", entered, author });
  await read;
}

/** A token made over the API, and whether its caller finds the drafted tools, whatever way it looks. */
async function tokenOf(testing: boolean, endpoint = "default"): Promise<string> {
  const wish = { kind: "agent", name: "tester", endpoints: [endpoint], testing };
  return String((await admin.expect(201, "POST", "/tokens", wish)).at("secret"));
}

async function sees(era: (typeof ERAS)[number], token: string, url = product.url): Promise<boolean> {
  const ask = await rawCaller(era, url, token);
  const search = await ask("tools/call", { name: "tool_search", arguments: { query: "quokka" } });
  const listed = await ask("tools/list");
  const read = await ask("tools/call", { name: "tool_read", arguments: { name: "extra__get_quokka", arguments: {} } });
  const found = JSON.stringify(search.message.result["structuredContent"]).includes("extra__get_quokka");
  const called = JSON.stringify(read.message).includes('"text":"get_quokka"');
  // A tool that was found is listed from then on.
  const again = JSON.stringify((await ask("tools/list")).message.result).includes("extra__get_quokka");
  assert.deepEqual([called, again], [found, found], JSON.stringify([listed.message, read.message]));
  return found;
}

for (const era of ERAS) {
  test(`a drafted connection is there for testing tokens alone, at one address (${era})`, async () => {
    const [plain, testing] = [await tokenOf(false), await tokenOf(true)];
    assert.equal(await sees(era, testing), false);
    await draftExtra();
    // In turns, so that what one compiled would be found by the other.
    assert.deepEqual(
      [await sees(era, plain), await sees(era, testing), await sees(era, plain), await sees(era, testing)],
      [false, true, false, true],
    );
    assert.equal(extra.calls.length, 2);
    await discardDraft(product.app.authoring, { environmentId, author });
    await product.app.registry.reload();
    assert.equal(await sees(era, testing), false);
  });
}

test("a denial that waits binds who tries it, and nobody else", async () => {
  const { authoring, registry } = product.app;
  const [plain, testing] = [await tokenOf(false), await tokenOf(true)];
  const price = async (token: string) => {
    const ask = await rawCaller("modern", product.url, token);
    return JSON.stringify((await ask("tools/call", { name: "shop__get_price", arguments: {} })).message);
  };
  const entered = { tools: { forbid: ["shop__*"] } };
  await updateEnvironment(authoring, { environmentId, entered, author });
  await registry.reload();
  assert.match(await price(plain), /"text":"get_price"/);
  assert.match(await price(testing), /Unknown tool/);
});

test("an endpoint that only a draft has is where testing tokens go, and opens to others when it is published", async () => {
  const { authoring, registry } = product.app;
  await createEndpoint(authoring, { environmentId, slug: "trial", entered: { label: "Trial" }, author });
  await registry.reload();
  const refused = await admin.expect(400, "POST", "/tokens", { kind: "agent", name: "other", endpoints: ["trial"] });
  assert.deepEqual(
    (refused.at("error", "problems") as { field: string }[]).map(({ field }) => field),
    ["body.endpoints.0"],
  );
  const testing = await tokenOf(true, "trial");
  const plain = (await commandBeside(product, "token", "create", "--name", "plain", "--endpoint", "trial")).split(
    "\n",
  )[0];
  const status = async (token = "") =>
    (await (await rawCaller("modern", product.endpoint("trial"), token))("tools/list")).status;
  assert.deepEqual([await status(testing), await status(plain)], [200, 404]);
  await publishDraft(authoring, { environmentId, author });
  await registry.reload();
  assert.deepEqual([await status(testing), await status(plain)], [200, 200]);
});

test("a call that the draft says to approve is approved under the draft, and void when the draft changes", async () => {
  await draftExtra();
  const ask = await rawCaller("modern", product.url, await tokenOf(true));
  const propose = async (text: string) => {
    const { message } = await ask("tools/call", { name: "extra__send_quokka", arguments: { text } });
    return Object(Object(message.result["structuredContent"])["approval"])["id"];
  };
  const id = await propose("one");
  await admin.expect(200, "POST", `/approvals/${id}/decision`, { decision: "approve" });
  const ran = await ask("tools/call", { name: "tool_write", arguments: { approval: id } });
  assert.equal(textOf(ran.message.result), "send_quokka");
  const late = await propose("two");
  const entered = { tools: { forbid: ["shop__*"] } };
  await updateEnvironment(product.app.authoring, { environmentId, entered, author });
  await product.app.registry.reload();
  const answer = await admin.expect(409, "POST", `/approvals/${late}/decision`, { decision: "approve" });
  assert.equal(answer.at("error", "code"), "approval_changed");
});

test("only who may edit connections makes a testing token, and it tests no longer than they may", async () => {
  const member = await apiWithSession(product, await signedInMember(product));
  const own = { name: "laptop", testing: true };
  const refused = await member.expect(400, "POST", "/tokens", own);
  assert.ok((refused.at("error", "problems") as { field: string }[]).some(({ field }) => field === "body.testing"));
  const tried = await member.call("POST", "/tools/try", { name: "shop__get_price", draft: true });
  assert.equal(tried.status, 403);

  const rhea = await apiWithSession(product, await signedInMember(product, { username: "rhea", role: "admin" }));
  const secret = String((await rhea.expect(201, "POST", "/tokens", { ...own, kind: "agent" })).at("secret"));
  await draftExtra();
  assert.equal(await sees("modern", secret), true);
  const got = await rhea.expect(200, "POST", "/tools/try", { name: "extra__get_quokka", draft: true });
  assert.equal(textOf(got.at("result") as object), "get_quokka");
  const published = await rhea.expect(200, "POST", "/tools/try", { name: "extra__get_quokka" });
  assert.match(textOf(published.at("result") as object), /Unknown tool/);
  const { people, members } = product.app.store.models;
  const person = await people.findOne({ where: { username: "rhea" } });
  assert.ok(person);
  await members.update({ role: "member" }, { where: { personId: person.id } });
  await product.app.oauth.personChanged(person.id);
  assert.equal(await sees("modern", secret), false);
});

test("the command line makes and lists them", async () => {
  await commandBeside(product, "token", "create", "--name", "by-cli", "--testing");
  const listed: { name: string; testing: boolean }[] = JSON.parse(
    await commandBeside(product, "token", "list", "--json"),
  );
  assert.equal(listed.find(({ name }) => name === "by-cli")?.testing, true);
  assert.match(await commandBeside(product, "token", "list"), /by-cli .*drafts/);
});
