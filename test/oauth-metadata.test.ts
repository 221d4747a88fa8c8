import assert from "node:assert/strict";
import { createServer, request as httpRequest } from "node:http";
import { after, before, describe, test } from "node:test";
import { type Product, startProduct } from "./fixtures/product.ts";

const OFFLINE = { "jackfield.yml": "version: 1\noauth: { clientDocuments: off }\n" };

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

interface Document {
  resource: string;
  authorization_servers: string[];
  scopes_supported: string[];
  [member: string]: unknown;
}

describe("discovery", () => {
  let product: Product;
  let origin: string;
  before(async () => {
    product = await startProduct({
      files: OFFLINE,
      endpoints: { support: { label: "Support" }, bots: { label: "Bots", signIn: "off" } },
    });
    origin = new URL(product.url).origin;
  });
  after(() => product[Symbol.asyncDispose]());

  const documentAt = async (path: string): Promise<Document> => {
    const response = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    return JSON.parse(await response.text());
  };
  const statusOf = async (path: string) => (await fetch(origin + path)).status;

  test("each endpoint has a document whose resource is the URL that a person pastes, letter by letter", async () => {
    for (const path of ["/mcp", "/mcp/support", "/mcp/default"]) {
      const { resource, authorization_servers: servers } = await documentAt(path);
      assert.equal(resource, origin + path);
      assert.deepEqual(servers, [origin]);
    }
  });

  test("the document at the root is the default endpoint's", async () => {
    assert.equal((await documentAt("")).resource, `${origin}/mcp`);
  });

  test("offline_access is neither in the document nor in the challenge", async () => {
    assert.deepEqual((await documentAt("/mcp")).scopes_supported, ["mcp:read", "mcp:write"]);
    const { headers } = await fetch(product.url, { method: "POST" });
    assert.doesNotMatch(headers.get("www-authenticate") ?? "", /offline/);
  });

  test("an endpoint without sign-in and one that does not exist have no document and the same challenge", async () => {
    for (const path of ["/mcp/bots", "/mcp/nothing"]) {
      assert.equal(await statusOf(`/.well-known/oauth-protected-resource${path}`), 404, path);
      const response = await fetch(origin + path, { method: "POST" });
      assert.equal(response.status, 401);
      assert.equal(response.headers.get("www-authenticate"), 'Bearer realm="jackfield"', path);
    }
  });

  test("a request without a token is led to the endpoint's own document, also a GET", async () => {
    for (const [method, path] of [
      ["POST", "/mcp"],
      ["GET", "/mcp"],
      ["POST", "/mcp/support"],
    ] as const) {
      const response = await fetch(origin + path, { method });
      assert.equal(response.status, 401);
      assert.equal(
        response.headers.get("www-authenticate"),
        `Bearer realm="jackfield", resource_metadata="${origin}/.well-known/oauth-protected-resource${path}", scope="mcp:read mcp:write"`,
      );
    }
  });

  test("a token that does not work is called invalid, with the way to a new one", async () => {
    const response = await fetch(product.url, { method: "POST", headers: { authorization: "Bearer nonsense" } });
    assert.equal(response.status, 401);
    assert.match(response.headers.get("www-authenticate") ?? "", /error="invalid_token", resource_metadata="/);
  });

  test("the server's metadata names the issuer, S256, iss, open clients and grantable scopes, and nothing that is off", async () => {
    for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]) {
      const response = await fetch(origin + path);
      assert.equal(response.headers.get("access-control-allow-origin"), "*");
      const metadata: Record<string, unknown> = JSON.parse(await response.text());
      assert.equal(metadata["issuer"], origin);
      assert.deepEqual(metadata["code_challenge_methods_supported"], ["S256"]);
      assert.equal(metadata["authorization_response_iss_parameter_supported"], true);
      assert.ok([metadata["token_endpoint_auth_methods_supported"]].flat().includes("none"));
      assert.deepEqual(metadata["scopes_supported"], ["mcp:read", "mcp:write", "mcp:pair", "offline_access"]);
      for (const absent of [
        ...["introspection_endpoint", "pushed_authorization_request_endpoint", "dpop_signing_alg_values_supported"],
        ...["userinfo_endpoint", "end_session_endpoint", "client_id_metadata_document_supported"],
      ]) {
        assert.equal(metadata[absent], undefined, absent);
      }
    }
  });

  test("the issuer has no path, so that no metadata stands where another issuer's would", async () => {
    for (const path of [
      "/.well-known/oauth-authorization-server/mcp",
      "/.well-known/openid-configuration/mcp",
      "/mcp/.well-known/openid-configuration",
    ]) {
      assert.equal(await statusOf(path), 404, path);
    }
  });

  test("on loopback a client that was given localhost reads localhost; the issuer stays the configured one", async () => {
    const { port } = new URL(origin);
    const response = await fetch(`http://localhost:${port}/.well-known/oauth-protected-resource/mcp`);
    const { resource, authorization_servers: servers }: Document = JSON.parse(await response.text());
    assert.equal(resource, `http://localhost:${port}/mcp`);
    assert.deepEqual(servers, [origin]);
  });

  test("a preflight of a page is answered without a token, and the page may read the challenge", async () => {
    const headers = { origin: "http://localhost:6274", "access-control-request-method": "POST" };
    const preflight = await fetch(product.url, {
      method: "OPTIONS",
      headers: { ...headers, "access-control-request-headers": "authorization,mcp-protocol-version" },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-origin"), headers.origin);
    assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /Authorization/);
    const refused = await fetch(product.url, { method: "POST", headers: { origin: headers.origin } });
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("access-control-expose-headers") ?? "", /WWW-Authenticate.*Mcp-Session-Id/);
  });

  test("registering, tokens and revoking are open to pages without credentials", async () => {
    for (const path of ["/oauth/register", "/oauth/token", "/oauth/revoke"]) {
      const headers = { origin: "https://client.example", "access-control-request-method": "POST" };
      const response = await fetch(origin + path, { method: "OPTIONS", headers });
      assert.equal(response.status, 204, path);
      assert.equal(response.headers.get("access-control-allow-origin"), "*");
      assert.equal(response.headers.get("access-control-allow-credentials"), null);
    }
  });
});

describe("behind a public name", () => {
  let product: Product;
  let port: number;
  before(async () => {
    port = await freePort();
    product = await startProduct({
      files: OFFLINE,
      env: { JACKFIELD_PORT: String(port), JACKFIELD_PUBLIC_URL: "https://mcp.acme.example" },
    });
  });
  after(() => product[Symbol.asyncDispose]());

  /** The listener is asked as a proxy asks it: with the public host. */
  const ask = (path: string, headers: Record<string, string> = {}, method = "GET") => {
    return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>((resolve, reject) => {
      const sent = httpRequest(
        { host: "127.0.0.1", port, path, method, headers: { host: "mcp.acme.example", ...headers } },
        (response) => {
          let text = "";
          response.on("data", (chunk) => {
            text += chunk;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
        },
      );
      sent.on("error", reject).end();
    });
  };

  test("every URL is of the public name, whatever host and scheme the request names", async () => {
    for (const headers of [
      {},
      { host: "127.0.0.1" },
      { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" },
    ]) {
      const { text } = await ask("/.well-known/oauth-authorization-server", headers);
      const metadata: Record<string, string> = JSON.parse(text);
      for (const member of ["issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint"]) {
        assert.equal(new URL(metadata[member] ?? "").origin, "https://mcp.acme.example", `${member} ${text}`);
      }
      const document: Document = JSON.parse((await ask("/.well-known/oauth-protected-resource", headers)).text);
      assert.equal(document.resource, "https://mcp.acme.example/mcp");
    }
  });

  test("a page of any origin may call at the public name, and none but ours at another", async () => {
    const origin = "https://playground.example";
    assert.equal((await ask("/mcp", { origin }, "POST")).status, 401);
    assert.equal((await ask("/mcp", { origin, host: "127.0.0.1" }, "POST")).status, 403);
  });
});
