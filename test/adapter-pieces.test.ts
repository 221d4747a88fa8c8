import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Credential } from "../adapters/contract.ts";
import { credentialForms, shapeCredential } from "../adapters/pieces/auth.ts";
import { piecesAdapter } from "../adapters/pieces/index.ts";
import { createPool } from "../sandbox/pool.ts";
import { createPieceHosts } from "../server/pieces/host.ts";
import { openPieceStore } from "../server/pieces/store.ts";
import { adapterContract, resultOf, testCall, testContext } from "./contract/adapter.ts";
import { installFixtures } from "./fixtures/piece-data.ts";
import { silentLog } from "./fixtures/silent-log.ts";

const directory = await installFixtures(["oldest", "middle", "newest"]);
const dataDir = join(directory, "data");
const store = openPieceStore(dataDir);
const pool = createPool({
  fetch: (input, init) => fetch(input, init),
  log: silentLog,
  bundleDirectory: store.bundles,
  cacheDirectory: join(dataDir, "pieces", "cache"),
});
after(async () => {
  await pool.close();
  rmSync(directory, { recursive: true, force: true });
});

const host = createPieceHosts(pool, store)({ connectionId: "tested", organizationId: "acme" });

function contextOf(piece: "middle" | "newest", config: object, credential: () => Promise<Credential | undefined>) {
  const bundle = store.read().get(`@activepieces/piece-${piece}@1.0.0`)?.bundle;
  return testContext({ piece, bundle, ...config }, { pieces: host, credential });
}

adapterContract(
  "pieces",
  piecesAdapter,
  async () => {
    let gone: (() => void) | undefined;
    let came: (() => void) | undefined;
    const cancelled = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const arrived = new Promise<void>((resolve) => {
      came = resolve;
    });
    // Answers nothing: the call waits for it until it is cancelled.
    const server = createServer((request) => {
      came?.();
      request.socket.once("close", () => gone?.());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const context = contextOf("newest", { method: "bearer" }, async () => ({ kind: "bearer", token: "a-good-token" }));
    return {
      context,
      echo: { action: "echo", args: (text) => ({ text }) },
      wait: { action: "wait", args: { url }, cancelled: () => cancelled, arrived: () => arrived },
      fail: { action: "fail", says: /it did not work/ },
      stop: async () => {
        server.closeAllConnections();
        server.close();
      },
    };
  },
  { progress: false },
);

test("the piece's own check is the health of a connection; without one it is configured", async () => {
  const server = createServer((request, response) => {
    response.writeHead(request.headers.authorization === "Bearer good-token" ? 200 : 403).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const check = async (piece: "middle" | "newest", method: string, credential: Credential) => {
    const session = await piecesAdapter.open(contextOf(piece, { method }, async () => credential));
    return session.check();
  };
  const fields = (values: Record<string, string>): Credential => ({ kind: "fields", values });
  const good = { base_url: baseUrl, admin_token: "good-token", region: "eu" };
  assert.deepEqual(await check("middle", "fields", fields(good)), { state: "healthy" });
  const bad = await check("middle", "fields", fields({ ...good, admin_token: "wrong-token" }));
  assert.deepEqual([bad.state, bad.code, bad.message], ["unhealthy", "authentication_required", "The shop says 403"]);
  const lacking = await check("middle", "fields", fields({ base_url: baseUrl }));
  assert.match(lacking.message ?? "", /lacks the fields admin_token, region/);
  const elsewhere = await check("middle", "fields", fields({ ...good, region: "mars" }));
  assert.match(elsewhere.message ?? "", /must be one of: eu, us/);
  assert.equal((await check("newest", "bearer", { kind: "bearer", token: "good-token" })).state, "healthy");
  const signedIn = await check("newest", "oauth", { kind: "bearer", token: "t" });
  assert.deepEqual(signedIn, { state: "configured" });
  server.closeAllConnections();
  server.close();
});

test("a piece that is signed in to gets the token, the rest of the answer and the values of its URLs", async () => {
  const credential: Credential = { kind: "bearer", token: "the-token", data: { workspace: "W1" } };
  const context = contextOf("newest", { method: "oauth", values: { region: "eu" } }, async () => credential);
  const session = await piecesAdapter.open(context);
  const outcome = await session.callTool("echo", { text: "hi" }, testCall());
  const expected = { text: "hi", kind: "OAUTH2", workspace: "W1", region: "eu" };
  assert.deepEqual(resultOf(outcome)["structuredContent"], expected);
});

test("each generation gets its credential in its own shape, and its form can be shown", () => {
  const described = (piece: string) => {
    const bundle = store.read().get(`@activepieces/piece-${piece}@1.0.0`)?.bundle ?? "";
    const description = store.describe(bundle);
    assert.ok(description);
    return description;
  };
  const newest = described("newest");
  const secret = newest.auth.find(({ type }) => type === "SECRET_TEXT");
  assert.ok(secret);
  const shaped = shapeCredential(newest, secret, { kind: "bearer", token: "t" }, {});
  assert.deepEqual(shaped.value, { type: "SECRET_TEXT", secret_text: "t" });
  assert.equal(shaped.forValidate, "t");
  const middle = described("middle");
  const form = middle.auth[0];
  assert.ok(form);
  const values = { base_url: "https://x.example", admin_token: "s", region: "eu" };
  const props = { baseUrl: "https://x.example", adminToken: "s", region: "eu" };
  const own = shapeCredential(middle, form, { kind: "fields", values }, {});
  assert.deepEqual(own.value, props);
  assert.deepEqual(own.secrets[0], "s");
  const [shown] = credentialForms(middle);
  assert.deepEqual(
    shown?.fields.map(({ field, secret: hidden, required }) => [field, hidden, required]),
    [
      ["base_url", false, true],
      ["admin_token", true, true],
      ["region", false, true],
    ],
  );
  assert.equal(credentialForms(described("oldest"))[0]?.fields[0]?.secret, true);
});
