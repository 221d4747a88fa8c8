/** Every way in which an agent's card asks for a credential. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SecurityScheme } from "@a2a-js/sdk";
import type { Request, RequestHandler } from "express";
import { modernShape } from "../adapters/a2a/card-shape.ts";
import { a2aAdapter } from "../adapters/a2a/index.ts";
import { signInPlaceOf } from "../adapters/a2a/sign-in.ts";
import { type Credential, UpstreamError } from "../adapters/contract.ts";
import { testCall, testContext, textOf } from "./contract/adapter.ts";
import { startAgent, type Version } from "./fixtures/a2a/agent.ts";
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from "./fixtures/authorization-server.ts";
import { textOf as clientText, connect } from "./fixtures/clients.ts";
import { signInTo } from "./fixtures/connection-sign-in.ts";
import { signedInAdmin } from "./fixtures/page-visitor.ts";
import { startProduct } from "./fixtures/product.ts";

const key = (location: string, name: string): SecurityScheme => ({
  scheme: { $case: "apiKeySecurityScheme", value: { description: "", location, name } },
});
const http = (scheme: string): SecurityScheme => ({
  scheme: { $case: "httpAuthSecurityScheme", value: { description: "", scheme, bearerFormat: "" } },
});

interface Way {
  readonly scheme: SecurityScheme;
  readonly credential: Credential;
  readonly arrives: (request: Request) => unknown;
  readonly as: string;
}

const WAYS: Readonly<Record<string, Way>> = {
  "an API key in a header": {
    scheme: key("header", "X-Agent-Key"),
    credential: { kind: "header", name: "X-Agent-Key", value: "key-123456" },
    arrives: (request) => request.get("x-agent-key"),
    as: "key-123456",
  },
  "an API key in the query": {
    scheme: key("query", "key"),
    credential: { kind: "query", name: "key", value: "key-123456" },
    arrives: (request) => request.query["key"],
    as: "key-123456",
  },
  "an API key in a cookie": {
    scheme: key("cookie", "agent"),
    credential: { kind: "cookie", name: "agent", value: "key-123456" },
    arrives: (request) => request.get("cookie"),
    as: "agent=key-123456",
  },
  "HTTP bearer": {
    scheme: http("Bearer"),
    credential: { kind: "bearer", token: "token-123456" },
    arrives: (request) => request.get("authorization"),
    as: "Bearer token-123456",
  },
  "HTTP basic": {
    scheme: http("basic"),
    credential: { kind: "basic", username: "ann", password: "password-1" },
    arrives: (request) => request.get("authorization"),
    as: `Basic ${Buffer.from("ann:password-1").toString("base64")}`,
  },
};

for (const [name, way] of Object.entries(WAYS)) {
  for (const version of ["1.0", "0.3"] as const) {
    test(`${name} reaches an agent of ${version} that asks for it, and its card is read without`, async (t) => {
      const seen: unknown[] = [];
      const guard: RequestHandler = (request, response, next) => {
        if (way.arrives(request) === way.as) return next();
        return void response.status(401).send("Who are you?");
      };
      const front: RequestHandler = (request, _response, next) => {
        if (request.path.includes(".well-known")) seen.push(way.arrives(request));
        next();
      };
      const agent = await startAgent({ version, schemes: { it: way.scheme }, requires: ["it"], guard, front });
      t.after(() => agent.close());
      const open = (credential: Credential | undefined) =>
        a2aAdapter.open(testContext({ card: agent.cardUrl }, { credential: async () => credential }));
      const session = await open(way.credential);
      assert.match(textOf(await session.callTool("talk", { message: "echo in" }, testCall())), /^in/);
      assert.deepEqual(await session.check(), { state: "healthy" });
      assert.deepEqual(new Set(seen), new Set([undefined]));
      const without = await open(undefined);
      await assert.rejects(without.callTool("talk", { message: "echo in" }, testCall()), (error) => {
        assert.ok(error instanceof UpstreamError);
        assert.equal(error.code, "authentication_required");
        assert.match(error.message, /needs a credential for it/);
        return true;
      });
      assert.equal((await without.check()).state, "unhealthy");
    });
  }
}

test("several schemes that are needed together go together; a card behind the credential is read with it", async (t) => {
  const passes = (request: Request) =>
    request.get("x-app") === "app-123456" && request.get("authorization") === "Bearer user-123456";
  const guard: RequestHandler = (request, response, next) =>
    passes(request) ? next() : void response.status(401).send("No.");
  const agent = await startAgent({
    schemes: { app: key("header", "X-App"), user: http("bearer") },
    requires: ["app", "user"],
    front: guard,
  });
  t.after(() => agent.close());
  const app: Credential = { kind: "header", name: "X-App", value: "app-123456" };
  const credential: Credential = { kind: "several", schemes: { app, user: { kind: "bearer", token: "user-123456" } } };
  const session = await a2aAdapter.open(testContext({ card: agent.cardUrl }, { credential: async () => credential }));
  assert.match(textOf(await session.callTool("talk", { message: "echo both" }, testCall())), /^both/);
  await assert.rejects(
    a2aAdapter.open(testContext({ card: agent.cardUrl }, { credential: async () => app })),
    /requires authentication/,
  );
});

test("where one signs in is read from cards of both versions", () => {
  const authorizationCode = {
    authorizationUrl: "https://as.example/a",
    tokenUrl: "https://as.example/t",
    scopes: { read: "" },
  };
  const clientCredentials = { tokenUrl: "https://as.example/c", scopes: {} };
  const flows = { authorizationCode, clientCredentials };
  for (const scheme of [{ oauth2SecurityScheme: { flows } }, { type: "oauth2", flows }]) {
    const card = { securitySchemes: { other: { type: "apiKey" }, it: scheme } };
    const { scopes: _words, ...urls } = authorizationCode;
    assert.deepEqual(signInPlaceOf(modernShape(card), "code"), { kind: "endpoints", ...urls, scopes: ["read"] });
    const { tokenUrl } = clientCredentials;
    assert.deepEqual(signInPlaceOf(modernShape(card), "client"), { kind: "endpoints", tokenUrl, scopes: [] });
  }
  const url = "https://as.example/.well-known/openid-configuration";
  for (const scheme of [
    { openIdConnectSecurityScheme: { openIdConnectUrl: url } },
    { type: "openIdConnect", openIdConnectUrl: url },
  ]) {
    assert.deepEqual(signInPlaceOf(modernShape({ securitySchemes: { it: scheme } }), "code"), {
      kind: "document",
      url,
      scopes: [],
    });
  }
  assert.equal(
    signInPlaceOf({ securitySchemes: { it: { oauth2SecurityScheme: { flows: { clientCredentials } } } } }, "code"),
    undefined,
  );
  assert.equal(signInPlaceOf({ name: "none" }, "client"), undefined);
});

/** An agent that takes tokens of an authorization server, which its card names. */
async function protectedAgent(
  t: TestContext,
  scheme: (server: AuthorizationServer) => SecurityScheme,
  behaviour: AuthorizationServerOptions,
  version: Version = "1.0",
) {
  const server = await startAuthorizationServer(behaviour);
  const guard: RequestHandler = (request, response, next) => {
    const [, token = ""] = /^Bearer (.*)$/.exec(request.get("authorization") ?? "") ?? [];
    if (server.grants.accepts(token)) return next();
    return void response.status(401).set("www-authenticate", "Bearer").send("Sign in first.");
  };
  const agent = await startAgent({ version, schemes: { it: scheme(server) }, requires: ["it"], guard });
  t.after(async () => {
    await agent.close();
    await server.close();
  });
  return { agent, server };
}

const codeFlow = (server: AuthorizationServer): SecurityScheme => ({
  scheme: {
    $case: "oauth2SecurityScheme",
    value: {
      description: "",
      oauth2MetadataUrl: "",
      flows: {
        flow: {
          $case: "authorizationCode",
          value: {
            authorizationUrl: server.endpoint("authorize"),
            tokenUrl: server.endpoint("token"),
            refreshUrl: "",
            scopes: { read: "Reads" },
            pkceRequired: true,
          },
        },
      },
    },
  },
});

const clientFlow = (server: AuthorizationServer): SecurityScheme => ({
  scheme: {
    $case: "oauth2SecurityScheme",
    value: {
      description: "",
      oauth2MetadataUrl: "",
      flows: {
        flow: { $case: "clientCredentials", value: { tokenUrl: server.endpoint("token"), refreshUrl: "", scopes: {} } },
      },
    },
  },
});

const openId = (server: AuthorizationServer): SecurityScheme => ({
  scheme: {
    $case: "openIdConnectSecurityScheme",
    value: { description: "", openIdConnectUrl: `${server.issuer}/.well-known/openid-configuration` },
  },
});

const SIGN_INS: readonly [
  string,
  (server: AuthorizationServer) => SecurityScheme,
  AuthorizationServerOptions,
  Version,
][] = [
  ["OAuth 2.0 with the URLs of the flow", codeFlow, { metadata: "none", iss: "absent" }, "1.0"],
  ["OAuth 2.0 with the URLs of the flow", codeFlow, { metadata: "none", iss: "absent" }, "0.3"],
  ["OpenID Connect", openId, { metadata: "oidc" }, "1.0"],
];

for (const [name, scheme, behaviour, version] of SIGN_INS) {
  test(`a person signs in to an agent of ${version} by ${name}`, async (t) => {
    const clients = { "our-client": { secret: "our-secret-123" } };
    const { agent, server } = await protectedAgent(t, scheme, { clients, dcr: false, ...behaviour }, version);
    const connection = {
      type: "a2a",
      label: "Agent",
      card: agent.cardUrl,
      auth: { method: "oauth" },
      access: { write: { tools: ["talk"] } },
    };
    await using product = await startProduct({ connections: { one: connection } });
    const [organization] = await product.app.store.models.organizations.findAll();
    await product.app.credentials.set({
      organizationId: organization?.id ?? "",
      name: "one",
      values: { client_id: "our-client", client_secret: "our-secret-123" },
      by: "test",
    });
    const token = await product.token();
    const client = await connect("v1", product.url, token);
    const admin = await signedInAdmin(product);
    const { registry } = product.app;
    const loaded = new Promise<void>((resolve) => {
      registry.onChange(() => {
        if (registry.connections().some(({ tools }) => tools.length > 0)) resolve();
      });
    });
    const page = await signInTo(product, admin, token, "one");
    assert.match(page.text, /Agent is connected/);
    await loaded;
    const result = await client.callTool({ name: "one__talk", arguments: { message: "echo as somebody" } });
    assert.match(clientText(result), /^as somebody/);
    await client.close();
    const [request] = server.seen("authorize");
    assert.equal(request?.query.get("code_challenge_method"), "S256");
    assert.equal(request?.query.has("resource"), false);
    if (scheme === codeFlow) assert.equal(request?.query.get("scope"), "read");
  });
}

test("a connection authenticates as itself where the card offers that", async (t) => {
  const clients = { "our-client": { secret: "our-secret-123" } };
  const { agent, server } = await protectedAgent(t, clientFlow, { clients, metadata: "none" });
  process.env["AGENT_SECRET"] = "our-secret-123";
  const auth = { method: "client_credentials", clientId: "our-client", secret: `\${env:AGENT_SECRET}` };
  const connection = { type: "a2a", card: agent.cardUrl, auth, access: "suggested" };
  await using product = await startProduct({ connections: { one: connection } });
  const client = await connect("v1", product.url, await product.token());
  const result = await client.callTool({ name: "one__talk", arguments: { message: "echo as itself" } });
  assert.match(clientText(result), /^as itself/);
  await client.close();
  assert.equal(server.seen("token").length, 1);
});
