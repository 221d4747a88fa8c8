import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MAX_DOCUMENT_BYTES } from "../server/oauth/client-metadata.ts";
import {
  answerRequest,
  authorizePath,
  pkce,
  publicClient,
  register,
  requestTokens,
  signInClient,
} from "./fixtures/oauth-client.ts";
import { createVisitor, signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

const HOUR = 3_600_000;
const OFFLINE = { "jackfield.yml": "version: 1\noauth: { clientDocuments: off }\n" };

describe("registration", () => {
  let product: Product;
  before(async () => {
    // Each test stands behind an address of its own, as far as limits go.
    product = await startProduct({ files: OFFLINE, env: { JACKFIELD_TRUSTED_PROXIES: "loopback" } });
  });
  after(() => product[Symbol.asyncDispose]());

  let address = 0;
  const send = (metadata: unknown) => {
    address += 1;
    return register(product, metadata, { "x-forwarded-for": `198.51.100.${address}` });
  };

  test("whatever members a client sends, only those that mean something here are kept", async () => {
    const { status, body } = await send({
      client_name: "A client",
      redirect_uris: ["https://client.example/callback"],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "implicit", "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code", "token"],
      scope: "openid profile email",
      logo_uri: "",
      client_uri: null,
      jwks_uri: "https://client.example/keys",
      software_statement: "x.y.z",
      sector_identifier_uri: "https://client.example/sector",
      id_token_signed_response_alg: "RS256",
      anything: { else: true },
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(body["grant_types"], ["authorization_code", "refresh_token"]);
    assert.deepEqual(body["response_types"], ["code"]);
    assert.equal(body["client_secret"], undefined);
    for (const member of ["scope", "logo_uri", "client_uri", "jwks_uri", "anything", "software_statement"]) {
      assert.equal(body[member], undefined, member);
    }
  });

  test("redirect URIs come back unchanged, in their order", async () => {
    const uris = [
      "http://localhost:3335/oauth/callback",
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "https://a.example/x?y=1",
    ];
    const { body } = await send({ redirect_uris: uris, token_endpoint_auth_method: "none", application_type: "web" });
    assert.deepEqual(body["redirect_uris"], uris);
    assert.equal(body["application_type"], "native");
  });

  test("a client that names no method, or one that is not offered, gets a secret", async () => {
    for (const method of [undefined, "client_secret_jwt", "tls_client_auth"]) {
      const { status, body } = await send({
        redirect_uris: ["https://client.example/cb"],
        token_endpoint_auth_method: method,
      });
      assert.equal(status, 201);
      assert.equal(body["token_endpoint_auth_method"], "client_secret_basic");
      assert.match(String(body["client_secret"]), /^.{43}$/);
    }
  });

  test("the database holds neither secrets nor anything that opens without the master key", async () => {
    const { body } = await send({ redirect_uris: ["https://client.example/cb"] });
    const row = await product.app.store.models.oauthClients.findOne({ where: { clientId: String(body["client_id"]) } });
    assert.ok(row?.sealedSecret);
    assert.ok(!JSON.stringify(row.get({ plain: true })).includes(String(body["client_secret"])));
  });

  test("dangerous and unusable redirect URIs are refused", async () => {
    for (const uri of [
      ...["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "blob:https://a.example/x"],
      ...[
        "about:blank",
        "ws://localhost/x",
        "chrome-extension://abc/x",
        "view-source:https://a.example",
        "intent://x#Intent",
      ],
      ...["http://client.example/callback", "http://127.0.0.1.evil.example/", "https://a.example/#fragment"],
      ...[
        "https://user:secret@a.example/",
        "not a uri",
        "https://a.example/ b",
        `https://a.example/${"x".repeat(2_000)}`,
      ],
    ]) {
      const { status, body } = await send({ redirect_uris: [uri], token_endpoint_auth_method: "none" });
      assert.deepEqual([status, body["error"]], [400, "invalid_redirect_uri"], uri);
    }
  });

  test("a registration without redirect URIs, with too many, or that is no object is refused", async () => {
    const many = Array.from({ length: 11 }, (_, index) => `https://client.example/${index}`);
    for (const body of [{}, { redirect_uris: [] }, { redirect_uris: many }, [], "x", null]) {
      assert.equal((await send(body)).status, 400, JSON.stringify(body));
    }
  });

  test("a body over 16 KiB is refused", async () => {
    const metadata = { redirect_uris: ["https://client.example/cb"], padding: "x".repeat(17_000) };
    assert.equal((await send(metadata)).status, 413);
  });

  test("a name cannot pretend to be another by invisible characters", async () => {
    const { body } = await send({
      client_name: `\u202eedualC\u0007 ${"x".repeat(200)}`,
      redirect_uris: ["https://client.example/cb"],
    });
    assert.match(String(body["client_name"]), /^edualC x+$/);
    assert.equal([...String(body["client_name"])].length, 100);
  });
});

describe("floods", () => {
  test("one address may register twenty clients an hour, another is not affected", async () => {
    await using product = await startProduct({ files: OFFLINE, env: { JACKFIELD_TRUSTED_PROXIES: "loopback" } });
    const metadata = { redirect_uris: ["https://client.example/cb"], token_endpoint_auth_method: "none" };
    const from = (address: string) => register(product, metadata, { "x-forwarded-for": address });
    const statuses: number[] = [];
    // An IPv6 network counts as one address.
    for (let index = 0; index < 21; index += 1) statuses.push((await from(`2001:db8::${index + 1}`)).status);
    assert.deepEqual(statuses, [...Array.from({ length: 20 }, () => 201), 429]);
    const refused = await from("2001:db8::ffff");
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get("retry-after")) > 0);
    assert.equal((await from("203.0.113.9")).status, 201);
  });

  test("10,000 registrations from as many addresses end at the cap; a working client works on, and unused rows go", async () => {
    let now = Date.now();
    await using product = await startProduct({
      files: OFFLINE,
      env: { JACKFIELD_TRUSTED_PROXIES: "loopback" },
      clock: () => now,
    });
    const { oauthClients } = product.app.store.models;
    const visitor = await signedInAdmin(product);
    const client = await signInClient(product, visitor);

    const metadata = { redirect_uris: ["https://client.example/cb"], token_endpoint_auth_method: "none" };
    const counts = new Map<number, number>();
    const flood = async (worker: number) => {
      for (let index = 0; index < 2_500; index += 1) {
        const { status } = await register(product, metadata, {
          "x-forwarded-for": `10.${worker}.${index >> 8}.${index & 255}`,
        });
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    };
    await Promise.all([0, 1, 2, 3].map(flood));
    assert.deepEqual([...counts.keys()].sort(), [201, 429]);
    assert.equal(counts.get(201), 999);
    assert.equal(await oauthClients.count(), 1_000);
    assert.equal((await client.refresh()).status, 200);

    now += 8 * 24 * HOUR;
    const later = await register(product, metadata, { "x-forwarded-for": "203.0.113.1" });
    // The window of the limiter runs on real time; sweeping runs before it matters.
    assert.ok([201, 429].includes(later.status));
    await product.app.oauth.reaper.sweep();
    assert.deepEqual(
      (await oauthClients.findAll({ where: { authorizedAt: null } })).length,
      later.status === 201 ? 1 : 0,
    );
    assert.ok(await oauthClients.findOne({ where: { clientId: client.clientId } }));
  });

  test("no more than the cap of registrations that nobody used are kept", async () => {
    await using product = await startProduct({ files: OFFLINE });
    const { oauthClients } = product.app.store.models;
    const createdAt = new Date();
    await oauthClients.bulkCreate(
      Array.from({ length: 10_000 }, (_, index) => ({
        clientKey: String(index).padStart(64, "0"),
        clientId: `dcr_${index}`,
        name: "",
        metadata: {},
        createdAt,
      })),
    );
    const metadata = { redirect_uris: ["https://client.example/cb"], token_endpoint_auth_method: "none" };
    assert.equal((await register(product, metadata)).status, 503);
  });
});

describe("forgotten clients", () => {
  test("a registration nobody authorized is forgotten after a day, an unused one after ninety, a used one never", async () => {
    let now = Date.now();
    await using product = await startProduct({ files: OFFLINE, clock: () => now });
    const visitor = await signedInAdmin(product);
    const idle = await publicClient(product);
    const used = await signInClient(product, visitor);
    const known = async (clientId: string) =>
      (await product.app.store.models.oauthClients.count({ where: { clientId } })) === 1;

    now += 25 * HOUR;
    await product.app.oauth.reaper.sweep();
    assert.deepEqual([await known(idle), await known(used.clientId)], [false, true]);

    // Its grant still works for as long as it is refreshed.
    const { oauthArtifacts } = product.app.store.models;
    now += 91 * 24 * HOUR;
    await oauthArtifacts.update({ expiresAt: new Date(now + HOUR) }, { where: { model: "RefreshToken" } });
    await product.app.oauth.reaper.sweep();
    assert.equal(await known(used.clientId), true);

    now += 2 * HOUR;
    await product.app.oauth.reaper.sweep();
    await product.app.oauth.reaper.sweep();
    assert.equal(await known(used.clientId), false);
  });

  test("it is told so: 401 invalid_client at the token endpoint, a page at the authorization endpoint", async () => {
    await using product = await startProduct({ files: OFFLINE });
    const { status, body } = await requestTokens(product, {
      grant_type: "refresh_token",
      refresh_token: "gone",
      client_id: "dcr_gone",
    });
    assert.deepEqual([status, body.error], [401, "invalid_client"]);
    const { challenge: code_challenge } = pkce();
    const path = authorizePath({
      client_id: "dcr_gone",
      redirect_uri: "http://localhost:3118/callback",
      code_challenge,
    });
    const page = await createVisitor(new URL(product.url).origin).get(path);
    assert.equal(page.status, 400);
    assert.equal(page.location, null);
    assert.match(page.text, /This client is not known here any more/);
    assert.match(page.text, /Remove this server from your client and add it again/);
    assert.match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
  });
});

describe("the operator's switches", () => {
  test("registration off is neither advertised nor served", async () => {
    await using product = await startProduct({
      files: { "jackfield.yml": "version: 1\noauth: { registration: off, clientDocuments: off }\n" },
    });
    const metadata = await (await fetch(new URL("/.well-known/oauth-authorization-server", product.url))).text();
    assert.ok(!metadata.includes("registration_endpoint"));
    assert.equal((await register(product, { redirect_uris: ["https://client.example/cb"] })).status, 403);
  });

  test("redirects can be narrowed to known hosts, or to the person's own machine", async () => {
    const accepted = async (redirects: string): Promise<string[]> => {
      await using product = await startProduct({
        files: { "jackfield.yml": `version: 1\noauth: { redirects: ${redirects}, clientDocuments: off }\n` },
      });
      const uris = [
        "http://127.0.0.1/cb",
        "https://claude.ai/api/mcp/auth_callback",
        "cursor://x/cb",
        "https://evil.example/cb",
      ];
      const kept: string[] = [];
      for (const uri of uris) if ((await register(product, { redirect_uris: [uri] })).status === 201) kept.push(uri);
      return kept;
    };
    assert.deepEqual(await accepted("known-hosts"), [
      "http://127.0.0.1/cb",
      "https://claude.ai/api/mcp/auth_callback",
      "cursor://x/cb",
    ]);
    assert.deepEqual(await accepted("loopback-only"), ["http://127.0.0.1/cb"]);
  });
});

describe("clients that are identified by a document", () => {
  const ID = "https://client.example/oauth/client.json";
  const DOCUMENT = {
    client_id: ID,
    client_name: "Document client",
    redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    scope: "openid",
  };
  let document: unknown;
  let status: number;
  let asked: string[];
  let product: Product;
  let visitor: Visitor;
  before(async () => {
    product = await startProduct({
      files: { "jackfield.yml": "version: 1\noauth: { clientDocuments: on }\n" },
      fetchDocument: async (url) => {
        asked.push(String(url));
        return typeof document === "string" ? new Response(document, { status }) : Response.json(document, { status });
      },
    });
    visitor = await signedInAdmin(product);
  });
  after(() => product[Symbol.asyncDispose]());

  const offer = (content: unknown, code = 200) => {
    document = content;
    status = code;
    asked = [];
  };
  const pathFor = (clientId: string) =>
    authorizePath({
      client_id: clientId,
      redirect_uri: "http://localhost:58135/callback",
      code_challenge: pkce().challenge,
      resource: product.url,
    });

  test("they are advertised where documents can be fetched", async () => {
    const metadata = await fetch(new URL("/.well-known/oauth-authorization-server", product.url));
    assert.equal(JSON.parse(await metadata.text()).client_id_metadata_document_supported, true);
  });

  test("one signs in with a free loopback port, and the page shows the host that vouches for it", async () => {
    offer(DOCUMENT);
    const started = await visitor.get(pathFor(ID));
    const page = await visitor.get(started.location ?? "");
    assert.match(page.text, /Allow Document client to use/);
    assert.match(page.text, /Identified by client\.example/);
    assert.match(page.text, /http:\/\/localhost:58135\/callback/);
    const client = await signInClient(product, visitor, {
      clientId: ID,
      redirectUri: "http://localhost:58135/callback",
    });
    assert.equal((await client.refresh()).status, 200);
    // Read once: it is cached as its answer says, at least for half a minute.
    assert.deepEqual(asked, [ID]);
  });

  test("a document that cannot be used ends on a page that says so, and is not asked for again at once", async () => {
    const wrong: [string, unknown, number?][] = [
      ["other-id", { ...DOCUMENT, client_id: "https://other.example/x" }],
      ["no-name", { ...DOCUMENT, client_name: undefined }],
      ["no-redirect", { ...DOCUMENT, redirect_uris: [] }],
      ["bad-redirect", { ...DOCUMENT, redirect_uris: ["http://evil.example/cb"] }],
      ["secret", { ...DOCUMENT, token_endpoint_auth_method: "client_secret_post" }],
      ["not-json", "<html>"],
      ["array", []],
      ["missing", DOCUMENT, 404],
      ["moved", DOCUMENT, 302],
      ["large", { ...DOCUMENT, padding: "x".repeat(MAX_DOCUMENT_BYTES) }],
    ];
    for (const [name, content, code] of wrong) {
      const id = `https://client.example/${name}.json`;
      const own = typeof content === "object" && !Array.isArray(content) && name !== "other-id";
      offer(own ? { ...content, client_id: id } : content, code);
      for (const attempt of [1, 2]) {
        const page = await visitor.get(pathFor(id));
        assert.equal(page.status, 400, `${name} ${attempt}`);
        assert.equal(page.location, null);
        assert.match(page.text, /This client could not be identified/);
      }
      assert.deepEqual(asked, [id], name);
    }
  });

  test("one address can have thirty documents fetched a minute", async () => {
    offer(DOCUMENT, 404);
    for (let index = 0; index < 40; index += 1)
      await visitor.get(pathFor(`https://client.example/flood-${index}.json`));
    assert.ok(asked.length <= 30, String(asked.length));
  });

  test("addresses inside are never dialled, however the name resolves", async () => {
    let resolved = 0;
    await using inside = await startProduct({
      files: { "jackfield.yml": "version: 1\noauth: { clientDocuments: on }\n" },
      resolver: async () => {
        resolved += 1;
        return [{ address: "127.0.0.1", family: 4 }];
      },
    });
    const anyone = createVisitor(new URL(inside.url).origin);
    for (const id of [ID, "https://127.0.0.1/x.json", "https://169.254.169.254/x.json", "https://[::1]/x.json"]) {
      const { challenge: code_challenge } = pkce();
      const page = await anyone.get(
        authorizePath({ client_id: id, redirect_uri: "http://localhost/cb", code_challenge }),
      );
      assert.equal(page.status, 400, id);
    }
    assert.equal(resolved, 1);
  });
});

test("what a person did not allow reaches the client as access_denied, with iss", async () => {
  await using product = await startProduct({ files: OFFLINE });
  const visitor = await signedInAdmin(product);
  const client_id = await publicClient(product);
  const path = authorizePath({
    client_id,
    redirect_uri: "http://127.0.0.1:33999/callback",
    code_challenge: pkce().challenge,
    resource: product.url,
  });
  const { searchParams } = await answerRequest(visitor, path, { decision: "deny" });
  assert.equal(searchParams.get("error"), "access_denied");
  assert.equal(searchParams.get("iss"), new URL(product.url).origin);
  assert.equal(searchParams.get("code"), null);
});
