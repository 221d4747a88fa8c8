import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { after, before, beforeEach, describe, test } from "node:test";
import { throughBrowser } from "./fixtures/identity-provider.ts";
import { createVisitor, signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { lastSignIn, whoIs } from "./fixtures/people-room.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

/** Answers as GitHub's server and its REST interface do, as far as signing in needs them. */
function gitHub() {
  const client = { id: "Iv1.0123456789abcdef", secret: "shh-0123456789abcdef0123456789abcdef" };
  const state = {
    user: { id: 583231, login: "octocat", name: "The Octocat" as string | null },
    emails: [{ email: "octocat@acme.example", primary: true, verified: true, visibility: "public" }],
    teams: [] as { slug: string; organization: { login: string } }[],
    /** An error in place of a token; GitHub says it with status 200. */
    tokenError: undefined as string | undefined,
    asked: [] as { path: string; headers: IncomingMessage["headers"] }[],
  };
  const codes = new Map<string, { challenge: string; redirect: string }>();
  const tokens = new Set<string>();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://github");
    state.asked.push({ path: url.pathname, headers: request.headers });
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
    if (url.pathname === "/login/oauth/authorize") {
      const code = randomBytes(10).toString("hex");
      const redirect = url.searchParams.get("redirect_uri") ?? "";
      codes.set(code, { challenge: url.searchParams.get("code_challenge") ?? "", redirect });
      const back = new URL(redirect);
      back.searchParams.set("code", code);
      back.searchParams.set("state", url.searchParams.get("state") ?? "");
      return response.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === "/login/oauth/access_token") {
      let body = "";
      for await (const chunk of request) body += chunk;
      const form = new URLSearchParams(body);
      const known = codes.get(form.get("code") ?? "");
      codes.delete(form.get("code") ?? "");
      const verifier = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      const good =
        form.get("client_id") === client.id && form.get("client_secret") === client.secret && known !== undefined;
      if (state.tokenError !== undefined) return json(200, { error: state.tokenError, error_description: "no" });
      if (!good || verifier !== known.challenge) return json(200, { error: "bad_verification_code" });
      const token = `gho_${randomBytes(18).toString("hex")}`;
      tokens.add(token);
      return json(200, { access_token: token, token_type: "bearer", scope: "read:org,read:user,user:email" });
    }
    if (!tokens.has((request.headers.authorization ?? "").replace(/^Bearer /, ""))) {
      return json(401, { message: "Bad credentials" });
    }
    if (url.pathname === "/api/v3/user") return json(200, state.user);
    if (url.pathname === "/api/v3/user/emails") return json(200, state.emails);
    if (url.pathname === "/api/v3/user/teams") {
      const page = Number(url.searchParams.get("page"));
      return json(200, state.teams.slice((page - 1) * 100, page * 100));
    }
    return json(404, { message: "Not Found" });
  });
  return { client, state, server };
}

describe("signing in through GitHub", () => {
  const { client, state, server } = gitHub();
  let product: Product;
  let site: string;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    site = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
    process.env["TEST_GITHUB_ID"] = client.id;
    process.env["TEST_GITHUB_SECRET"] = client.secret;
    product = await startProduct({ files: { "jackfield.yml": configuration(site) } });
    await signedInAdmin(product);
  });
  beforeEach(() => {
    Object.assign(state, {
      user: { id: 583231, login: "octocat", name: "The Octocat" },
      emails: [{ email: "octocat@acme.example", primary: true, verified: true, visibility: "public" }],
      teams: [{ slug: "support", organization: { login: "acme" } }],
      tokenError: undefined,
      asked: [],
    });
  });
  after(async () => {
    await product?.[Symbol.asyncDispose]();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const visit = () => createVisitor(new URL(product.url).origin);
  const signIn = async (visitor: Visitor) => {
    await visitor.get("/sign-in");
    const { location } = await visitor.post("/sign-in/with/github", {});
    const { pathname, search } = await throughBrowser(location ?? "", site);
    return visitor.get(pathname + search);
  };

  test("admits somebody by a verified address of a listed domain, with teams as groups", async () => {
    const visitor = visit();
    assert.equal((await signIn(visitor)).location, "/");
    assert.equal(await whoIs(visitor), "octocat@github");
    assert.match((await visitor.get("/account")).text, /in the groups acme\/support</);
    const person = await product.app.store.models.people.findOne({ where: { username: "octocat@github" } });
    assert.deepEqual(
      [person?.name, person?.email, person?.passwordHash],
      ["The Octocat", "octocat@acme.example", null],
    );
  });

  test("asks with the token in a header, and with no credential of ours in an address", async () => {
    await signIn(visit());
    assert.deepEqual(
      state.asked.map(({ path }) => path),
      [
        "/login/oauth/authorize",
        "/login/oauth/access_token",
        "/api/v3/user",
        "/api/v3/user/emails",
        "/api/v3/user/teams",
      ],
    );
    for (const { path, headers } of state.asked.filter((asked) => asked.path.startsWith("/api/"))) {
      assert.match(headers.authorization ?? "", /^Bearer gho_/, path);
      assert.equal(headers.cookie, undefined);
    }
  });

  test("a login that changed hands is not the person who had it: the number counts", async () => {
    state.user = { id: 99, login: "octocat", name: null };
    const visitor = visit();
    await signIn(visitor);
    assert.equal(await whoIs(visitor), "octocat-2@github");
    state.user = { id: 583231, login: "renamed", name: "The Octocat" };
    const original = visit();
    await signIn(original);
    assert.equal(await whoIs(original), "octocat@github");
  });

  test("an address that is not verified admits nobody", async () => {
    state.user = { id: 7, login: "mallory", name: null };
    state.emails = [{ email: "boss@acme.example", primary: true, verified: false, visibility: "public" }];
    assert.equal((await signIn(visit())).status, 403);
    assert.equal((await lastSignIn(product)).reason, "not known here, and without a verified mail address");
  });

  test("teams beyond the first hundred count, too", async () => {
    state.teams = Array.from({ length: 130 }, (_, number) => ({
      slug: `t-${number}`,
      organization: { login: "acme" },
    }));
    const visitor = visit();
    await signIn(visitor);
    assert.match((await visitor.get("/account")).text, /acme\/t-129/);
  });

  test("what it says in place of a token lets nobody in", async () => {
    state.tokenError = "bad_verification_code";
    const visitor = visit();
    assert.equal((await signIn(visitor)).status, 400);
    assert.equal(await whoIs(visitor), undefined);
    const { decision, rule } = await lastSignIn(product);
    assert.deepEqual([decision, rule], ["refuse", "github"]);
  });
});

function configuration(site: string): string {
  return `version: 1
signIn:
  - id: github
    type: github
    url: ${site}
    clientId: \${env:TEST_GITHUB_ID}
    clientSecret: \${env:TEST_GITHUB_SECRET}
    admit: { domains: [acme.example] }
    groups: { claim: teams }
`;
}
