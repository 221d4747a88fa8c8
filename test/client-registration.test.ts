import assert from "node:assert/strict";
import { test } from "node:test";
import { openLink, signInLink, signInStage, signInTo, visitServer } from "./fixtures/connection-sign-in.ts";
import { startProduct } from "./fixtures/product.ts";
import { listen } from "./fixtures/upstreams/listen.ts";

test("a service that offers no way to register is told in words", async () => {
  await using stage = await signInStage({ dcr: false });
  const { product, admin, token } = stage;
  const page = await admin.get(await signInLink(product, token, "tracker"));
  assert.equal(page.status, 502);
  assert.match(page.text, /offers no way for this server to register/);
  assert.match(page.text, /credential tracker/);
  assert.match(page.text, /\/connections\/callback/);
});

test("a client that the operator was given comes before all others", async () => {
  await using stage = await signInStage({ clients: { given: { secret: "given-secret" } } });
  const { server, product, admin, token } = stage;
  const organization = await product.app.store.models.organizations.findOne();
  await product.app.credentials.set({
    organizationId: organization?.id ?? "",
    name: "tracker",
    values: { client_id: "given", client_secret: "given-secret" },
    by: "test",
  });
  assert.equal((await signInTo(product, admin, token, "tracker")).status, 200);
  assert.equal(server.seen("authorize")[0]?.query.get("client_id"), "given");
  assert.equal(server.seen("register").length, 0);
});

for (const [order, first] of [
  ["[cimd, dcr]", "cimd"],
  ["[dcr, cimd]", "dcr"],
  ["[dcr]", "dcr"],
] as const) {
  test(`with signInOrder ${order} the client comes by ${first}`, async () => {
    const document = "https://client.example/metadata.json";
    const jackfield = `version: 1\nsignInOrder: ${order}\nclientMetadataUrl: ${document}\n`;
    await using stage = await signInStage({ cimd: true }, { files: { "jackfield.yml": jackfield } });
    const { server, product, admin, token } = stage;
    assert.equal((await signInTo(product, admin, token, "tracker")).status, 200);
    assert.equal(server.seen("authorize")[0]?.query.get("client_id") === document, first === "cimd");
    assert.equal(server.seen("register").length, first === "dcr" ? 1 : 0);
  });
}

test("a client that the service has forgotten is registered anew at the next try", async () => {
  await using stage = await signInStage();
  const { server, product, admin, token } = stage;
  const back = await visitServer(await openLink(admin, await signInLink(product, token, "tracker")));
  server.clients.clear();
  assert.match((await admin.get(back)).text, /does not know this server as its client any more/);
  assert.equal((await signInTo(product, admin, token, "tracker")).status, 200);
  assert.equal(server.seen("register").length, 2);
});

test("our metadata document names us and where browsers come back to", async () => {
  const place = await listen((_request, response) => response.end());
  const { port } = new URL(place.url);
  await place.close();
  const env = { JACKFIELD_PUBLIC_URL: "https://jackfield.example", JACKFIELD_PORT: port };
  await using product = await startProduct({ env });
  assert.equal(new URL(product.url).origin, "https://jackfield.example");
  const response = await fetch(`http://127.0.0.1:${port}/oauth/client-metadata.json`);
  const document = JSON.parse(await response.text());
  assert.equal(document.client_id, "https://jackfield.example/oauth/client-metadata.json");
  assert.deepEqual(document.redirect_uris, ["https://jackfield.example/connections/callback"]);
  assert.equal(document.token_endpoint_auth_method, "none");
});
