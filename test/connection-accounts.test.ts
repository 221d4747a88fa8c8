import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { z } from "zod";
import { type AuthorizationServer, startAuthorizationServer } from "./fixtures/authorization-server.ts";
import { connectV2, textOf } from "./fixtures/clients.ts";
import { runToEnd } from "./fixtures/command.ts";
import { askAuthorize, openLink, pathOf, signInTo, visitServer } from "./fixtures/connection-sign-in.ts";
import { signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type ProtectedUpstream, startProtectedUpstream } from "./fixtures/upstreams/protected.ts";

const Said = z.object({ status: z.string().optional(), url: z.string().default("") }).loose();

/** The life of an account: signed in, used, asked for more, ended, signed in again. */
describe("an account of a connection", () => {
  let server: AuthorizationServer;
  let upstream: ProtectedUpstream;
  let product: Product;
  let admin: Visitor;
  let token: string;

  beforeEach(async () => {
    server = await startAuthorizationServer({ scopes: ["read", "write"] });
    upstream = await startProtectedUpstream(server, { scope: "read" });
    product = await startProduct({
      connections: {
        tracker: {
          type: "mcp",
          label: "Tracker",
          url: upstream.url,
          auth: { method: "oauth" },
          subject: "user",
          access: { read: { tools: ["*"] } },
        },
      },
    });
    admin = await signedInAdmin(product);
    token = await product.token();
  });
  afterEach(async () => {
    await product[Symbol.asyncDispose]();
    await upstream.close();
    await server.close();
  });

  /** Resolves once the connection's tools are served. */
  async function toolsRead(): Promise<void> {
    const { registry } = product.app;
    const served = () => registry.connections().some(({ tools }) => tools.length > 0);
    await new Promise<void>((resolve) => {
      const look = () => {
        if (!served()) return;
        stop();
        resolve();
      };
      const stop = registry.onChange(look);
      look();
    });
  }

  async function call(): Promise<{ isError: boolean; text: string; status: unknown; url: string }> {
    const client = await connectV2(product.url, token, "modern");
    try {
      const result = await client.callTool({ name: "tracker__echo", arguments: {} });
      const { status, url } = Said.parse(result.structuredContent ?? {});
      return { isError: result.isError === true, text: textOf(result), status, url };
    } finally {
      await client.close();
    }
  }

  const command = async (...args: string[]) => {
    const ended = await runToEnd(args, {
      JACKFIELD_DATA_DIR: join(product.directory, "data"),
      JACKFIELD_CONFIG_DIR: join(product.directory, "config"),
      JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback",
      JACKFIELD_PUBLIC_URL: new URL(product.url).origin,
    });
    assert.equal(ended.code, 0, ended.stderr);
    return ended.stdout;
  };

  test("after the sign-in the tools are read with it and can be called", async () => {
    assert.equal((await signInTo(product, admin, token, "tracker")).status, 200);
    await toolsRead();
    const answer = await call();
    assert.equal(answer.isError, false, answer.text);
    assert.ok(upstream.presented.some((authorization) => authorization?.startsWith("Bearer ")));
  });

  test("a call that needs more scopes leads to a sign-in that asks for them and for the old ones", async () => {
    await signInTo(product, admin, token, "tracker");
    await toolsRead();
    assert.equal(server.seen("authorize")[0]?.query.get("scope"), "read");
    upstream.needs.scope = "write";
    const refused = await call();
    assert.equal(refused.status, "authorization_required", refused.text);
    assert.equal((await askAuthorize(product, token, "tracker")).body.status, "authorize");
    const link = pathOf(refused.url);
    const page = await admin.get(await visitServer(await openLink(admin, link)));
    assert.equal(page.status, 200);
    assert.equal(server.seen("authorize")[1]?.query.get("scope"), "read write");
    assert.equal((await call()).isError, false);
  });

  test("a service that is never content is asked for at most three sign-ins", async () => {
    await signInTo(product, admin, token, "tracker");
    await toolsRead();
    upstream.needs.scope = "admin";
    for (let more = 0; more < 2; more += 1) {
      const refused = await call();
      assert.equal(refused.status, "authorization_required", refused.text);
      const link = pathOf(refused.url);
      const authorization = await openLink(admin, link);
      // It grants what it likes.
      authorization.searchParams.set("scope", "read");
      assert.equal((await admin.get(await visitServer(authorization))).status, 200);
    }
    const last = await call();
    assert.equal(last.isError, true);
    assert.notEqual(last.status, "authorization_required", last.text);
  });

  test("the command line prints a page to sign in at, and ends accounts; the next sign-in keeps the account", async () => {
    const url = (await command("connection", "authorize", "tracker", "--agent", "agent")).trim();
    const page = await admin.get(await visitServer(await openLink(admin, pathOf(url))));
    assert.match(page.text, /Tracker is connected/);
    await toolsRead();
    const [before] = await product.app.store.models.accounts.findAll();
    assert.equal(before?.state, "connected");

    assert.match(await command("connection", "disconnect", "tracker", "--agent", "agent"), /is disconnected/);
    const [ended] = await product.app.store.models.accounts.findAll();
    assert.equal(ended?.state, "needs_sign_in");
    assert.equal(ended?.sealedTokens, null);
    const hints = server.seen("revoke").map(({ form }) => form.get("token_type_hint"));
    assert.deepEqual(hints, ["refresh_token", "access_token"]);
    assert.match(await command("connection", "disconnect", "tracker", "--all"), /was not signed in/);

    await signInTo(product, admin, token, "tracker");
    const [after] = await product.app.store.models.accounts.findAll();
    assert.equal(after?.id, before?.id);
    assert.equal((await call()).isError, false);
  });

  test("a page for whoever opens it signs in that person's own account", async () => {
    const url = (await command("connection", "authorize", "tracker")).trim();
    await admin.get(await visitServer(await openLink(admin, pathOf(url))));
    const [account] = await product.app.store.models.accounts.findAll();
    assert.equal(account?.principalIssuer, "urn:jackfield:people");
    assert.equal((await askAuthorize(product, token, "tracker")).body.status, "authorize", "not the agent's");
  });
});
