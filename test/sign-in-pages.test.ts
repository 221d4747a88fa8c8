import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { after, before, describe, test } from "node:test";
import { createOneTimeLinks } from "../server/people/one-time-links.ts";
import { LINK_MS } from "../server/people/setup.ts";
import { freePort } from "./fixtures/databases.ts";
import { ADMIN, createVisitor, setupPath, signedInAdmin } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

const { username, password } = ADMIN;
const SESSION = "jackfield-session";

describe("the pages of an installation without people", () => {
  let product: Product;
  let origin: string;
  before(async () => {
    product = await startProduct();
    ({ origin } = new URL(product.url));
  });
  after(() => product[Symbol.asyncDispose]());

  test("the sign-in page says that nobody has an account, and how one is made", async () => {
    const { status, text } = await createVisitor(origin).get("/sign-in");
    assert.equal(status, 200);
    assert.match(text, /Nobody has an account yet/);
    assert.match(text, /people setup-link/);
  });

  test("a setup link asks for name, username and password, and says in place what is wrong with them", async () => {
    const visitor = createVisitor(origin);
    const path = await setupPath(product);
    const shown = await visitor.get(path);
    assert.equal(shown.status, 200);
    assert.match(shown.text, /<h1>Set up Jackfield<\/h1>/);
    const wrong = await visitor.post(path, { name: "<b>Dana", username: "no spaces", password: "password1234" });
    assert.equal(wrong.status, 422);
    assert.match(wrong.text, /<title>Error: /);
    assert.match(wrong.text, /2 things to fix/);
    assert.match(wrong.text, /href="#username"/);
    assert.match(wrong.text, /href="#password"/);
    assert.match(wrong.text, /value="&lt;b&gt;Dana"/);
    assert.ok(!wrong.text.includes("password1234"), "what was typed as a password is not sent back");
  });

  test("looking at a setup link uses nothing up; using it makes an admin, signs them in and ends the link", async () => {
    const path = await setupPath(product);
    for (let look = 0; look < 3; look += 1) assert.equal((await createVisitor(origin).get(path)).status, 200);
    const visitor = createVisitor(origin);
    await visitor.get(path);
    const made = await visitor.post(path, { ...ADMIN, username: " Dana " });
    assert.deepEqual([made.status, made.location], [303, "/"]);
    const home = await visitor.get("/");
    assert.match(home.text, /You are signed in, Dana Reyes/);
    assert.match(home.text, /<dd>Admin<\/dd>/);

    await visitor.get("/sign-out");
    const again = await visitor.post(path, { ...ADMIN, username: "eve" });
    assert.equal(again.status, 410);
    assert.match(again.text, /This link does not work any more/);
    assert.equal((await visitor.get(path)).status, 410);
    assert.equal(await product.app.store.models.people.count(), 1);
  });

  test("a further setup link does nothing where there is an admin", async () => {
    const visitor = createVisitor(origin);
    await visitor.get("/sign-in");
    const path = await setupPath(product);
    assert.equal((await visitor.get(path)).status, 410);
    assert.equal((await visitor.post(path, { ...ADMIN, username: "eve" })).status, 410);
    assert.equal(await product.app.store.models.people.count(), 1);
  });
});

describe("the pages of an installation with an admin", () => {
  let product: Product;
  let origin: string;
  before(async () => {
    product = await startProduct();
    ({ origin } = new URL(product.url));
    await signedInAdmin(product);
  });
  after(() => product[Symbol.asyncDispose]());

  const signIn = async (visitor = createVisitor(origin), fields: Record<string, string> = {}) => {
    await visitor.get("/sign-in");
    return visitor.post("/sign-in", { username, password, ...fields });
  };

  test("who is not signed in is sent to sign in and back to where they were", async () => {
    const visitor = createVisitor(origin);
    const asked = await visitor.get("/sign-out?from=a%26b");
    assert.equal(asked.status, 303);
    assert.equal(asked.location, "/sign-in?returnTo=%2Fsign-out%3Ffrom%3Da%2526b");
    const form = await visitor.get(asked.location ?? "");
    assert.match(form.text, /name="returnTo" value="\/sign-out\?from=a%26b"/);
    const done = await visitor.post("/sign-in", { username, password, returnTo: "/sign-out?from=a%26b" });
    assert.deepEqual([done.status, done.location], [303, "/sign-out?from=a%26b"]);
    assert.equal((await visitor.get("/sign-in?returnTo=/sign-out")).location, "/sign-out");
  });

  test("a way back to another site leads to the start page", async () => {
    for (const returnTo of ["//evil.example", "/\\evil.example", "https://evil.example/", "/\t/evil.example"]) {
      assert.equal((await signIn(createVisitor(origin), { returnTo })).location, "/");
      const visitor = createVisitor(origin);
      const { text } = await visitor.get(`/sign-in?returnTo=${encodeURIComponent(returnTo)}`);
      assert.match(text, /name="returnTo" value="\/"/);
    }
  });

  test("a wrong password and an unknown username are answered with the same page", async () => {
    const page = async (name: string) => {
      const { status, text } = await signIn(createVisitor(origin), { username: name, password: "not the password" });
      return { status, text: text.replaceAll(name, "NAME").replace(/name="csrf" value="[^"]*"/, "") };
    };
    const wrong = await page(username);
    assert.equal(wrong.status, 422);
    assert.match(wrong.text, /Username or password is wrong/);
    assert.deepEqual(await page("nobody"), wrong);
  });

  test("the session's cookie changes at sign-in, cannot be read by scripts and ends what was before it", async () => {
    const visitor = createVisitor(origin);
    visitor.cookies.set(SESSION, "f".repeat(43));
    const first = await signIn(visitor);
    const [line = ""] = first.headers.getSetCookie().filter((cookie) => cookie.startsWith(SESSION));
    assert.match(line, /^jackfield-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/);
    const before = visitor.cookies.get(SESSION) ?? "";
    assert.notEqual(before, "f".repeat(43));
    // A second sign-in in the same browser, as from a form that another tab still showed.
    await visitor.get("/sign-out");
    const second = await visitor.post("/sign-in", { username, password });
    assert.equal(second.status, 303);
    assert.notEqual(visitor.cookies.get(SESSION), before);
    const thief = createVisitor(origin);
    thief.cookies.set(SESSION, before);
    assert.equal((await thief.get("/")).status, 303);
    assert.equal((await visitor.get("/")).status, 200);
  });

  test("signing out asks first, ends this browser's session and leaves the others", async () => {
    const [here, there] = [createVisitor(origin), createVisitor(origin)];
    await signIn(here);
    await signIn(there);
    const kept = here.cookies.get(SESSION) ?? "";
    assert.match((await here.get("/sign-out")).text, /Sign out\?/);
    assert.equal((await here.get("/")).status, 200);
    assert.match((await here.post("/sign-out", {})).text, /You are signed out/);
    assert.equal(here.cookies.size, 0);
    here.cookies.set(SESSION, kept);
    assert.equal((await here.get("/")).status, 303);
    assert.equal((await there.get("/")).status, 200);
  });

  test("a form of another site, without its token or with another browser's does nothing", async () => {
    const visitor = createVisitor(origin);
    await signIn(visitor);
    await visitor.get("/sign-out");
    const stranger = createVisitor(origin);
    await stranger.get("/sign-in");
    for (const [fields, headers] of [
      [{}, { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
      [{}, { "sec-fetch-site": "same-site", origin }],
      [{ csrf: "" }, {}],
      [{ csrf: stranger.token() }, {}],
    ] as const) {
      const refused = await visitor.post("/sign-out", fields, headers);
      assert.equal(refused.status, 403);
      assert.match(refused.text, /This form is too old/);
    }
    assert.equal((await visitor.get("/")).status, 200);
    assert.equal((await visitor.post("/sign-out", {})).status, 200);
  });

  test("the forms of two tabs both work", async () => {
    const visitor = createVisitor(origin);
    await visitor.get("/sign-in");
    const first = visitor.token();
    await visitor.get("/sign-in?returnTo=/other");
    assert.equal(visitor.token(), first);
  });

  test("a reset link sets a new password and ends the sessions that the old one opened", async () => {
    const { store } = product.app;
    const person = await store.models.people.findOne({ where: { username } });
    const member = await store.models.members.findOne({ where: { personId: person?.id ?? "" } });
    const links = createOneTimeLinks({ store, clock: Date.now });
    const old = createVisitor(origin);
    await signIn(old);
    const { secret } = await links.create({
      ...{ kind: "reset", organizationId: member?.organizationId ?? "", role: "admin" },
      ...{ personId: person?.id ?? "", forMs: LINK_MS },
    });
    const visitor = createVisitor(origin);
    assert.match((await visitor.get(`/setup/${secret}`)).text, /Choose a new password/);
    assert.equal((await visitor.post(`/setup/${secret}`, { password: "dana-2026-dana" })).status, 422);
    assert.equal((await visitor.post(`/setup/${secret}`, { password, username: "eve" })).status, 303);
    assert.equal((await visitor.get("/")).status, 200);
    assert.equal((await old.get("/")).status, 303);
    assert.equal((await createVisitor(origin).get(`/setup/${secret}`)).status, 410);
  });

  test("every page forbids scripts, frames, sniffing, referrers and keeping", async () => {
    const visitor = createVisitor(origin);
    const signedIn = createVisitor(origin);
    await signIn(signedIn);
    const answers = {
      signIn: await visitor.get("/sign-in"),
      redirect: await visitor.get("/"),
      ended: await visitor.get("/setup/x"),
      missing: await visitor.get("/nowhere"),
      refused: await visitor.post("/sign-in", { csrf: "" }),
      home: await signedIn.get("/"),
      signOut: await signedIn.get("/sign-out"),
    };
    for (const [page, { headers }] of Object.entries(answers)) {
      const policy = headers.get("content-security-policy") ?? "";
      for (const rule of ["default-src 'none'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]) {
        assert.ok(policy.includes(rule), `${page}: ${rule}`);
      }
      assert.doesNotMatch(policy, /unsafe|data:|\*|https?:/);
      // Chromium applies form-action to redirects: a sign-in that goes on at another site would end there.
      assert.equal(policy.includes("form-action 'self'"), page !== "signIn", page);
      assert.equal(headers.get("x-frame-options"), "DENY", page);
      assert.equal(headers.get("x-content-type-options"), "nosniff", page);
      assert.equal(headers.get("referrer-policy"), "no-referrer", page);
      assert.equal(headers.get("cache-control"), "no-store", page);
      assert.equal(headers.get("x-powered-by"), null, page);
    }
  });

  test("no page has a script, a style attribute or an event attribute", async () => {
    const visitor = createVisitor(origin);
    await signIn(visitor);
    const pages = [await createVisitor(origin).get("/sign-in"), await visitor.get("/"), await visitor.get("/sign-out")];
    for (const { text } of pages) assert.doesNotMatch(text, /<script|<style|\sstyle=|\son\w+=|javascript:/i);
  });

  test("the files of the pages are served as what they are, and nothing outside of them", async () => {
    const visitor = createVisitor(origin);
    for (const [file, type] of [
      ["app.css", "text/css"],
      ["icons.svg", "image/svg+xml"],
      ["favicon.svg", "image/svg+xml"],
    ] as const) {
      const { status, headers } = await visitor.get(`/static/${file}`);
      assert.equal(status, 200);
      assert.ok(headers.get("content-type")?.startsWith(type));
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.match(headers.get("etag") ?? "", /./);
    }
    for (const path of ["/static/", "/static/..%2fpackage.json", "/static/%2e%2e/package.json", "/static/none.css"]) {
      assert.equal((await visitor.get(path)).status, 404, path);
    }
  });

  test("an address where nothing is gets a page in a browser and JSON elsewhere", async () => {
    const page = await createVisitor(origin).get("/nowhere");
    assert.equal(page.status, 404);
    assert.match(page.text, /<h1>There is nothing at this address<\/h1>/);
    for (const accept of ["*/*", "application/json", "application/json, text/event-stream"]) {
      const answer = await createVisitor(origin).get("/nowhere", { accept });
      assert.equal(answer.status, 404);
      assert.equal(JSON.parse(answer.text).error.message, "There is nothing at this address.");
    }
  });

  test("the MCP endpoint answers a browser as it answers everybody", async () => {
    const answer = await createVisitor(origin).get("/mcp");
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get("content-type"), "application/json");
    assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer /);
  });

  test("a form that is too large, of another type or not text is refused and breaks nothing", async () => {
    const visitor = createVisitor(origin);
    await visitor.get("/sign-in");
    const large = await visitor.post("/sign-in", { username: "x".repeat(33_000), password });
    assert.equal(large.status, 413);
    assert.match(large.text, /This request was not understood/);
    const json = await visitor.post("/sign-in", {}, { "content-type": "application/json" });
    assert.equal(json.status, 403);
    const charset = await visitor.post(
      "/sign-in",
      {},
      { "content-type": "application/x-www-form-urlencoded;charset=x" },
    );
    assert.equal(charset.status, 415);
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`f${index}`, ""]));
    assert.equal((await visitor.post("/sign-in", many)).status, 413);
    assert.doesNotMatch(large.text + json.text + charset.text, /node_modules|\bat \w+ \(/);
  });

  test("odd fields are taken for what they are: text", async () => {
    const visitor = createVisitor(origin);
    await visitor.get("/sign-in");
    const body = `csrf=${visitor.token()}&username=a&username=b&username[x]=c&__proto__=d&password=e%00&returnTo=/a&returnTo=//b`;
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL("/sign-in", origin), {
      method: "POST",
      body,
      headers: { cookie, accept: "text/html", "content-type": "application/x-www-form-urlencoded" },
    });
    assert.equal(response.status, 422);
    assert.match(await response.text(), /id="username"[^>]* value="a"/);
  });

  test("a host that is not served here gets no page (DNS rebinding)", async () => {
    const { port } = new URL(origin);
    const status = await new Promise((resolve, reject) => {
      const headers = { host: "evil.example", accept: "text/html" };
      const sent = httpRequest({ host: "127.0.0.1", port, path: "/sign-in", headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject).end();
    });
    assert.equal(status, 403);
  });

  test("too many wrong passwords are answered with how long to wait", async () => {
    const visitor = createVisitor(origin);
    await visitor.get("/sign-in");
    const attempt = () => visitor.post("/sign-in", { username: "someone-else", password: "not the password" });
    for (let count = 0; count < 5; count += 1) assert.equal((await attempt()).status, 422);
    const limited = await attempt();
    assert.equal(limited.status, 429);
    assert.match(limited.text, /Too many attempts from this network\. Wait 15 minutes, then try again\./);
    assert.ok(Number(limited.headers.get("retry-after")) > 800);
    assert.equal((await signIn()).status, 303, "another account is not concerned");
  });
});

test("under a public https address the cookies are bound to the host and to https", async () => {
  const port = String(await freePort());
  const publicUrl = "https://mcp.acme.example";
  await using product = await startProduct({ env: { JACKFIELD_PUBLIC_URL: publicUrl, JACKFIELD_PORT: port } });
  // The proxy that ends TLS stands in front; what it passes on is plain http.
  const visitor = createVisitor(`http://127.0.0.1:${port}`);
  const path = await setupPath(product);
  const [shown = ""] = (await visitor.get(path)).headers.getSetCookie();
  assert.match(shown, /^__Host-jackfield-visitor=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  const refused = await visitor.post(path, ADMIN, { "sec-fetch-site": "cross-site" });
  assert.equal(refused.status, 403);
  const made = await visitor.post(path, ADMIN, { origin: publicUrl });
  assert.equal(made.status, 303);
  const [session = ""] = made.headers.getSetCookie();
  assert.match(
    session,
    /^__Host-jackfield-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800$/,
  );
  assert.equal((await visitor.get("/")).status, 200);
});

test("sessions and people survive a restart", async () => {
  const first = await startProduct();
  const visitor = await signedInAdmin(first);
  const cookies = new Map(visitor.cookies);
  await first.stop();
  await using second = await startProduct({ directory: first.directory });
  const later = createVisitor(new URL(second.url).origin);
  for (const [name, value] of cookies) later.cookies.set(name, value);
  assert.match((await later.get("/")).text, /You are signed in, Dana Reyes/);
});
