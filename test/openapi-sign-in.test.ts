/** Where one signs in to a service is taken from its document; nobody copies its OAuth endpoints by hand. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { JsonObject } from "../adapters/contract.ts";
import { openapiAdapter } from "../adapters/openapi/index.ts";
import { testContext } from "./contract/adapter.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./fixtures/authorization-server.ts";
import { connect, textOf } from "./fixtures/clients.ts";
import { signInTo } from "./fixtures/connection-sign-in.ts";
import { documentOf } from "./fixtures/openapi-session.ts";
import { signedInAdmin } from "./fixtures/page-visitor.ts";
import { startProduct } from "./fixtures/product.ts";
import { startRecordingService } from "./fixtures/recording-service.ts";

const placeOf = (document: JsonObject, wants: "code" | "client", config: JsonObject = {}) =>
  openapiAdapter.signInPlace?.(wants, testContext({ specText: JSON.stringify(document), ...config }));

test("OAuth endpoints are read from documents of 2.0 and 3.x, and from what they name as a discovery document", async () => {
  const code = { authorizationUrl: "https://as.example/a", tokenUrl: "https://as.example/t" };
  const scopes = { "crm:read": "", "crm:write": "" };
  const modern = (scheme: JsonObject) =>
    documentOf({}, { components: { securitySchemes: { key: { type: "apiKey" }, it: scheme } } });
  const flows = { authorizationCode: { ...code, scopes }, clientCredentials: { tokenUrl: "https://as.example/c" } };
  const found = { kind: "endpoints", ...code, scopes: ["crm:read", "crm:write"] };
  assert.deepEqual(await placeOf(modern({ type: "oauth2", flows }), "code"), found);
  const asItself = { kind: "endpoints", tokenUrl: "https://as.example/c", scopes: [] };
  assert.deepEqual(await placeOf(modern({ type: "oauth2", flows }), "client"), asItself);
  const old = (scheme: JsonObject) => ({ swagger: "2.0", paths: {}, securityDefinitions: { it: scheme } });
  assert.deepEqual(await placeOf(old({ type: "oauth2", flow: "accessCode", ...code, scopes }), "code"), found);
  const application = { type: "oauth2", flow: "application", tokenUrl: "https://as.example/c" };
  assert.deepEqual(await placeOf(old(application), "client"), asItself);
  assert.equal(await placeOf(old(application), "code"), undefined);
  const url = "https://as.example/.well-known/openid-configuration";
  const document = { kind: "document", url, scopes: [] };
  assert.deepEqual(await placeOf(modern({ type: "openIdConnect", openIdConnectUrl: url }), "code"), document);
  const named = { type: "oauth2", oauth2MetadataUrl: url, flows };
  assert.deepEqual(await placeOf(modern(named), "client"), document);
});

test("relative endpoints lie where the service is, and others than http are none", async () => {
  const flow = (tokenUrl: string) =>
    documentOf(
      {},
      { components: { securitySchemes: { it: { type: "oauth2", flows: { clientCredentials: { tokenUrl } } } } } },
    );
  const place = await placeOf(flow("/oauth/token"), "client", { baseUrl: "https://crm.example/api/" });
  assert.deepEqual(place, { kind: "endpoints", tokenUrl: "https://crm.example/oauth/token", scopes: [] });
  for (const wrong of ["/oauth/token", "", "javascript:alert(1)", "file:///etc/passwd"]) {
    assert.equal(await placeOf(flow(wrong), "client"), undefined, wrong);
  }
});

/** A service whose document names the flow, and which takes nothing but tokens of the server. */
async function crm(t: TestContext, flowOf: (server: AuthorizationServer) => JsonObject) {
  const clients = { "our-client": { secret: "our-secret-123" } };
  const server = await startAuthorizationServer({ clients, dcr: false, metadata: "none", iss: "absent" });
  const service = await startRecordingService((request, response) => {
    const [, token = ""] = /^Bearer (.*)$/.exec(request.headers.authorization ?? "") ?? [];
    const admitted = Boolean(server.grants.accepts(token));
    response.writeHead(admitted ? 200 : 401, { "content-type": "application/json" });
    response.end(JSON.stringify({ admitted }));
  });
  t.after(async () => {
    await service.close();
    await server.close();
  });
  const scheme = { type: "oauth2", flows: flowOf(server) };
  const document = documentOf(
    { "/me": { get: { operationId: "me", security: [{ it: [] }] } } },
    { components: { securitySchemes: { it: scheme } } },
  );
  return { server, service, document: JSON.stringify(document) };
}

test("a person signs in to a service by the endpoints of its document", async (t) => {
  const { server, service, document } = await crm(t, (of) => ({
    authorizationCode: {
      authorizationUrl: of.endpoint("authorize"),
      tokenUrl: of.endpoint("token"),
      scopes: { read: "Reads" },
    },
  }));
  const connection = { type: "openapi", label: "CRM", spec: "./crm.json", baseUrl: service.url, access: "suggested" };
  await using product = await startProduct({
    connections: { crm: { ...connection, auth: { method: "oauth" } } },
    files: { "connections/crm.json": document },
  });
  const [organization] = await product.app.store.models.organizations.findAll();
  await product.app.credentials.set({
    organizationId: organization?.id ?? "",
    name: "crm",
    values: { client_id: "our-client", client_secret: "our-secret-123" },
    by: "test",
  });
  const token = await product.token();
  const client = await connect("v1", product.url, token);
  t.after(() => client.close());
  const { registry } = product.app;
  const loaded = new Promise<void>((resolve) => {
    registry.onChange(() => {
      if (registry.connections().some(({ tools }) => tools.length > 0)) resolve();
    });
  });
  const page = await signInTo(product, await signedInAdmin(product), token, "crm");
  assert.match(page.text, /CRM is connected/);
  await loaded;
  const result = await client.callTool({ name: "crm__me", arguments: {} });
  assert.equal(textOf(result), '{"admitted":true}');
  assert.equal(server.seen("authorize")[0]?.query.get("scope"), "read");
});

test("a connection authenticates as itself by the endpoint of the document", async (t) => {
  const { server, service, document } = await crm(t, (of) => ({
    clientCredentials: { tokenUrl: of.endpoint("token"), scopes: {} },
  }));
  process.env["CRM_CLIENT_SECRET"] = "our-secret-123";
  const auth = { method: "client_credentials", clientId: "our-client", secret: `\${env:CRM_CLIENT_SECRET}` };
  await using product = await startProduct({
    connections: { crm: { type: "openapi", spec: "./crm.json", baseUrl: service.url, access: "suggested", auth } },
    files: { "connections/crm.json": document },
  });
  const client = await connect("v1", product.url, await product.token());
  t.after(() => client.close());
  const result = await client.callTool({ name: "crm__me", arguments: {} });
  assert.equal(textOf(result), '{"admitted":true}');
  assert.equal(server.seen("token").length, 1);
});
