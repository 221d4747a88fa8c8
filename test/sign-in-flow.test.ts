import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from "./fixtures/authorization-server.ts";
import {
  askAuthorize,
  openLink,
  pathOf,
  type SignInStage,
  signedInPerson,
  signInLink,
  signInStage,
  signInTo,
  visitServer,
} from "./fixtures/connection-sign-in.ts";
import { createVisitor, type Visitor } from "./fixtures/page-visitor.ts";
import type { Product, ProductOptions } from "./fixtures/product.ts";
import { type ProtectedUpstream, startProtectedUpstream } from "./fixtures/upstreams/protected.ts";

const TEN_MINUTES = 10 * 60_000;

describe("signing in to a connection", () => {
  let stage: SignInStage;
  let server: AuthorizationServer;
  let upstream: ProtectedUpstream;
  let product: Product;
  let admin: Visitor;
  let token: string;
  let now: number;

  async function start(
    behaviour: AuthorizationServerOptions = {},
    options: ProductOptions = {},
    tracker: object = {},
  ): Promise<void> {
    stage = await signInStage(behaviour, { clock: () => Date.now() + now, ...options }, tracker);
    ({ server, upstream, product, admin, token } = stage);
  }

  beforeEach(() => {
    now = 0;
  });
  afterEach(() => stage[Symbol.asyncDispose]());

  const accounts = () => product.app.store.models.accounts.findAll();
  const tokenRequests = () => server.seen("token").length;

  test("a link leads to the service and back, and the account is there", async () => {
    await start();
    const page = await signInTo(product, admin, token, "tracker");
    assert.equal(page.status, 200);
    assert.match(page.text, /Tracker is connected/);
    const [account] = await accounts();
    assert.equal(account?.state, "connected");
    assert.equal(account?.authorizationServer, server.issuer);
    assert.equal(account?.resource, upstream.url);
    assert.deepEqual((await askAuthorize(product, token, "tracker")).body, { status: "connected" });
    const [asked] = server.seen("authorize");
    assert.equal(asked?.query.get("resource"), upstream.url);
    assert.equal(asked?.query.get("code_challenge_method"), "S256");
    const [redeemed] = server.seen("token");
    assert.equal(redeemed?.form.get("resource"), upstream.url);
  });

  test("asking again gives the same link until somebody has signed in; after ten minutes another one", async () => {
    await start();
    const first = await signInLink(product, token, "tracker");
    assert.equal(await signInLink(product, token, "tracker"), first);
    const authorization = await openLink(admin, first);
    assert.equal(await signInLink(product, token, "tracker"), first, "while it is under way");
    // Opened twice it is two attempts of one client; either may be finished.
    const again = await openLink(admin, first);
    assert.notEqual(again.searchParams.get("state"), authorization.searchParams.get("state"));
    assert.equal(server.seen("register").length, 1);
    now = TEN_MINUTES;
    const second = await signInLink(product, token, "tracker");
    assert.notEqual(second, first);
    assert.equal(await product.app.store.models.signInAttempts.count({ where: { state: "offered" } }), 1);
    assert.equal((await admin.get(first)).status, 400);
  });

  test("begun in one browser and finished in another: nothing is stored and nothing is sent", async () => {
    await start();
    const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
    const stranger = createVisitor(new URL(product.url).origin);
    assert.match((await stranger.get(back)).text, /Finish in the browser that started/);
    // Also where the same person is signed in there.
    const session = admin.cookies.get("jackfield-session");
    stranger.cookies.set("jackfield-session", session ?? "");
    const page = await stranger.get(back);
    assert.equal(page.status, 400);
    assert.match(page.text, /Finish in the browser that started/);
    assert.equal(tokenRequests(), 0);
    assert.equal((await accounts()).length, 0);
    // The browser that started it may still finish.
    assert.equal((await admin.get(back)).status, 200);
  });

  test("a person who did not start it cannot finish it, even in the same browser", async () => {
    await start();
    const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
    const other = await signedInPerson(product, { username: "mallory", role: "admin" });
    admin.cookies.set("jackfield-session", other.cookies.get("jackfield-session") ?? "");
    const page = await admin.get(back);
    assert.equal(page.status, 403);
    assert.match(page.text, /Someone else started this sign-in/);
    admin.cookies.delete("jackfield-session");
    assert.equal((await admin.get(back)).status, 403);
    assert.equal(tokenRequests(), 0);
    assert.equal((await accounts()).length, 0);
  });

  test("an answer that comes twice is redeemed once and shows the same page", async () => {
    await start();
    const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
    const pages = await Promise.all([admin.get(back), admin.get(back), admin.get(back)]);
    assert.ok(pages.some(({ status }) => status === 200));
    const again = await admin.get(back);
    assert.equal(again.status, 200);
    assert.match(again.text, /Tracker is connected/);
    assert.equal(tokenRequests(), 1);
    assert.equal((await accounts()).length, 1);
    const [row] = await product.app.store.models.signInAttempts.findAll({ where: { state: "connected" } });
    assert.equal(row?.sealedFlow, null, "nothing that could redeem anything is left");
  });

  test("after ten minutes an answer is refused", async () => {
    await start();
    const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
    now = TEN_MINUTES;
    const page = await admin.get(back);
    assert.equal(page.status, 400);
    assert.match(page.text, /took too long/);
    assert.equal(tokenRequests(), 0);
    assert.equal((await accounts()).length, 0);
  });

  for (const iss of ["wrong", "left-out"] as const) {
    test(`an answer whose issuer is ${iss} is not redeemed, and ends the attempt`, async () => {
      await start({ iss });
      const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
      assert.match((await admin.get(back)).text, /came from somewhere else/);
      assert.match((await admin.get(back)).text, /does not come from the service that was asked/);
      assert.equal(tokenRequests(), 0);
      assert.equal((await accounts()).length, 0);
    });
  }

  test("an error is shown only where it comes from the service that was asked", async () => {
    await start({ iss: "wrong", denies: true });
    const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
    const page = await admin.get(back);
    assert.match(page.text, /came from somewhere else/);
    assert.doesNotMatch(page.text, /declined/);
  });

  test("who says no at the service reads what happened and what to do", async () => {
    await start({ denies: true });
    const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
    const page = await admin.get(back);
    assert.equal(page.status, 400);
    assert.match(page.text, /was declined there, so nothing was stored. Start again/);
    assert.equal(tokenRequests(), 0);
    const { body } = await askAuthorize(product, token, "tracker");
    assert.equal(body.status, "authorize", "and may try again");
  });

  test("text in an answer never reaches the page", async () => {
    await start();
    const authorization = await openLink(admin, await signInLink(product, token, "tracker"));
    const back = new URL("/connections/callback", product.url);
    back.searchParams.set("state", authorization.searchParams.get("state") ?? "");
    back.searchParams.set("iss", server.issuer);
    back.searchParams.set("error", "Call 555-0100 <b>now</b>");
    back.searchParams.set("error_description", "Your account is locked");
    const page = await admin.get(pathOf(back.href));
    assert.match(page.text, /unknown error/);
    assert.doesNotMatch(page.text, /555|locked/);
  });

  test("a service that does not name itself gets an address of its own, and no other may answer there", async () => {
    await start({ iss: "absent" });
    const authorization = await openLink(admin, await signInLink(product, token, "tracker"));
    const redirect = new URL(authorization.searchParams.get("redirect_uri") ?? "");
    assert.match(redirect.pathname, /^\/connections\/callback\/[0-9A-Z]{26}$/);
    const back = await visitServer(authorization);
    // What another authorization server was tricked into sending comes in at its own address.
    const mixedUp = back.replace(redirect.pathname, "/connections/callback");
    assert.match((await admin.get(mixedUp)).text, /came from somewhere else/);
    assert.equal(tokenRequests(), 0);
    assert.equal((await admin.get(back)).status, 200);
  });

  test("two services: the code of one is never sent to the other", async () => {
    const evil = await startAuthorizationServer({ iss: "advertised" });
    const elsewhere = await startProtectedUpstream(evil);
    try {
      await start(
        {},
        {
          connections: {
            evil: { type: "mcp", url: elsewhere.url, auth: { method: "oauth" }, access: { read: { tools: ["*"] } } },
          },
        },
      );
      const toEvil = await openLink(admin, await signInLink(product, token, "evil"));
      const toHonest = await openLink(admin, await signInLink(product, token, "tracker"));
      // The evil one sends the browser on to the honest one with the state of its own attempt.
      toHonest.searchParams.set("state", toEvil.searchParams.get("state") ?? "");
      const page = await admin.get(await visitServer(toHonest));
      assert.match(page.text, /came from somewhere else/);
      assert.equal(evil.seen("token").length, 0);
      assert.equal(tokenRequests(), 0);
    } finally {
      await elsewhere.close();
      await evil.close();
    }
  });

  test("an answer that is posted goes round by GET, so that the cookie comes along", async () => {
    await start();
    const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
    const { pathname, searchParams } = new URL(back, product.url);
    // As a form of another site: no cookie of ours, and more than we asked for.
    const body = new URLSearchParams([...searchParams, ["session_state", "x"]]);
    const response = await fetch(new URL(pathname, product.url), { method: "POST", body, redirect: "manual" });
    assert.equal(response.status, 303);
    const location = new URL(response.headers.get("location") ?? "");
    assert.equal(location.searchParams.get("session_state"), null);
    assert.equal(tokenRequests(), 0);
    assert.equal((await admin.get(pathOf(location.href))).status, 200);
  });

  test("the page checks who opens the link", async () => {
    await start({}, { connections: { own: { type: "mcp", url: "http://127.0.0.1:1/mcp", subject: "user" } } });
    const link = await signInLink(product, token, "tracker");
    const nobody = createVisitor(new URL(product.url).origin);
    const asked = await nobody.get(link);
    assert.equal(asked.status, 303);
    assert.equal(asked.location, `/sign-in?returnTo=${encodeURIComponent(link)}`);
    const member = await signedInPerson(product, { username: "mallory", role: "member" });
    const refused = await member.get(link);
    assert.equal(refused.status, 403);
    assert.match(refused.text, /administrator/);
    assert.equal(server.seen("register").length, 0);
    assert.equal((await admin.get(`${link.slice(0, -2)}xx`)).status, 400);
    assert.equal((await admin.get("/connections/sign-in")).status, 400);
  });

  test("each person has an account of their own where the connection says so", async () => {
    await start({}, {}, { subject: "user" });
    const status = async (visitor: Visitor) =>
      JSON.parse((await visitor.get("/connections/authorize?connection=tracker")).text);
    const member = await signedInPerson(product, { username: "mallory", role: "member" });
    const mine = await status(member);
    assert.equal(mine.status, "authorize");
    // Not even an admin signs in for another person.
    assert.equal((await admin.get(pathOf(mine.url))).status, 403);
    const page = await member.get(await visitServer(await openLink(member, pathOf(mine.url))));
    assert.equal(page.status, 200);
    assert.deepEqual(await status(member), { status: "connected" });
    assert.equal((await status(admin)).status, "authorize");
    // The agent's own account is an admin's to sign in.
    const agents = await signInLink(product, token, "tracker");
    assert.equal((await member.get(agents)).status, 403);
    assert.equal((await admin.get(agents)).status, 303);
  });

  test("who asks without a name, for nothing, or for what needs no sign-in is told so", async () => {
    await start({}, { connections: { open: { type: "mcp", url: "http://127.0.0.1:1/mcp", label: "Open" } } });
    const bare = await fetch(new URL("/connections/authorize?connection=tracker", product.url));
    assert.equal(bare.status, 401);
    assert.equal((await askAuthorize(product, `${token}x`, "tracker")).status, 401);
    assert.equal((await askAuthorize(product, token, "nothing")).status, 404);
    const open = await askAuthorize(product, token, "open");
    assert.equal(open.status, 409);
    assert.deepEqual(open.body, { status: "unavailable", reason: "Open needs no sign-in." });
    const member = await signedInPerson(product, { username: "mallory", role: "member" });
    const refused = await member.get("/connections/authorize?connection=tracker");
    assert.equal(refused.status, 409);
    assert.match(refused.text, /administrator/);
  });

  test("no state, verifier, code or token is in any page, or in the log", async () => {
    const lines: string[] = [];
    const write = (details: object, message: string) => {
      lines.push(JSON.stringify({ ...details, message }));
    };
    const log = { debug: write, info: write, warn: write, error: write };
    await start({}, { log });
    server.fail("token", { status: 503 });
    const eve = await signedInPerson(product, { username: "eve", role: "admin" });
    const pages = [await signInTo(product, eve, token, "tracker")];
    assert.match(pages[0]?.text ?? "", /did not answer properly, so nothing was stored/);
    server.recover("token");
    const authorization = await openLink(admin, await signInLink(product, token, "tracker"));
    const back = await visitServer(authorization);
    pages.push(await admin.get(back), await admin.get(back));
    const secrets = [
      authorization.searchParams.get("state"),
      new URL(back, product.url).searchParams.get("code"),
      ...server.seen("token").map(({ form }) => form.get("code_verifier")),
    ];
    for (const secret of secrets) {
      assert.ok(secret);
      for (const page of pages) assert.ok(!page.text.includes(secret));
      for (const line of lines) assert.ok(!line.includes(secret), line);
    }
  });
});
