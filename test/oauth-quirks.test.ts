import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { authorizeHeadless } from "./fixtures/headless-sign-in.ts";
import { CLIENT_CASES, runClientCase } from "./fixtures/oauth-cases.ts";
import { answerRequest, authorizePath, pkce, register, requestTokens, signInClient } from "./fixtures/oauth-client.ts";
import { ADMIN, signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";

let product: Product;
let visitor: Visitor;
let origin: string;
before(async () => {
  product = await startProduct({
    files: { "jackfield.yml": "version: 1\noauth: { clientDocuments: off }\n" },
    endpoints: { support: { label: "Support" } },
    env: { JACKFIELD_TRUSTED_PROXIES: "loopback" },
  });
  visitor = await signedInAdmin(product);
  origin = new URL(product.url).origin;
});
after(() => product[Symbol.asyncDispose]());

describe("what real clients were seen to do", () => {
  for (const one of CLIENT_CASES) {
    test(`${one.client}: ${one.why} (${one.refs.join(", ")})`, () => runClientCase(product, visitor, one));
  }
});

let clients = 0;

/** Registers, signs in and fetches tokens the way one client does. */
async function complete(
  metadata: { redirect_uris: string[]; token_endpoint_auth_method?: string },
  query: Record<string, string | undefined>,
  { basic = false, form = {} }: { basic?: boolean; form?: Record<string, string> } = {},
) {
  clients += 1;
  const { status, body } = await register(product, metadata, { "x-forwarded-for": `192.0.2.${clients}` });
  assert.equal(status, 201, JSON.stringify(body));
  const [client_id, secret = ""] = [String(body["client_id"]), body["client_secret"] as string | undefined];
  const { verifier, challenge } = pkce();
  const redirect_uri = query["redirect_uri"] ?? metadata.redirect_uris[0];
  const path = authorizePath({ client_id, redirect_uri, code_challenge: challenge, ...query });
  const callback = await answerRequest(visitor, path);
  const code = callback.searchParams.get("code") ?? "";
  const credentials = { authorization: `Basic ${Buffer.from(`${client_id}:${secret}`).toString("base64")}` };
  const exchange = {
    grant_type: "authorization_code",
    code,
    code_verifier: verifier,
    redirect_uri: redirect_uri ?? "",
  };
  const identity: Record<string, string> = basic ? {} : { client_id, ...(secret ? { client_secret: secret } : {}) };
  const headers: Record<string, string> = basic ? credentials : {};
  const answer = await requestTokens(product, { ...exchange, ...identity, ...form }, headers);
  return { answer, client_id, secret, callback, registered: body, credentials };
}

const works = async (token: string, url = product.url) => (await postModern(url, token, "tools/list")).status === 200;

describe("clients without a recorded case", () => {
  test("Claude.ai asks for every scope of the server's metadata, and each can be granted (anthropics/claude-ai-mcp#228)", async () => {
    const metadata = await fetch(`${origin}/.well-known/oauth-authorization-server`);
    const { scopes_supported: scopes }: { scopes_supported: string[] } = JSON.parse(await metadata.text());
    const { answer } = await complete(
      { redirect_uris: ["https://claude.ai/api/mcp/auth_callback"], token_endpoint_auth_method: "none" },
      { scope: scopes.join(" "), resource: `${origin}/` },
    );
    assert.equal(answer.status, 200);
    assert.ok(await works(answer.body.access_token));
  });

  test("ChatGPT has a redirect of its own per connector and asks for the path's document first (getsentry/sentry-mcp#742)", async () => {
    const document = await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`);
    assert.equal(document.status, 200);
    for (const uri of [
      "https://chatgpt.com/connector/oauth/AbC_123-x",
      "https://chatgpt.com/connector_platform_oauth_redirect",
    ]) {
      const { answer } = await complete(
        { redirect_uris: [uri], token_endpoint_auth_method: "none" },
        { resource: product.url },
      );
      assert.ok(await works(answer.body.access_token), uri);
    }
  });

  test("Codex comes with another port and path segment than it registered, and OpenID scopes (openai/codex#35253)", async () => {
    const { answer } = await complete(
      { redirect_uris: ["http://127.0.0.1:63546/callback/6MFBM1In3Ey-"], token_endpoint_auth_method: "none" },
      {
        redirect_uri: "http://127.0.0.1:51999/callback/6MFBM1In3Ey-",
        scope: "openid profile email",
        resource: product.url,
      },
    );
    assert.equal(answer.body.scope, "mcp:read mcp:write");
  });

  test("Copilot Studio names no method, authenticates with Basic and asks for no scope (activepieces/activepieces#14397)", async () => {
    const { answer } = await complete(
      { redirect_uris: ["https://global.consent.azure-apim.net/redirect/my-5ftool"] },
      { resource: product.url },
      { basic: true },
    );
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.scope, "mcp:read mcp:write");
  });

  test("Grok compares the resource of each path with the URL it has (exa-labs/exa-mcp-server#387)", async () => {
    for (const path of ["/mcp", "/mcp/support"]) {
      const document = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
      assert.equal(JSON.parse(await document.text()).resource, origin + path);
    }
    const { tokens } = await signInClient(product, visitor, { resource: `${origin}/mcp/support` });
    assert.ok(await works(tokens.access_token, `${origin}/mcp/support`));
  });

  test("LibreChat registers with a secret, refreshes with Basic, and in parallel (danny-avila/LibreChat#11925, #13364)", async () => {
    const { answer, credentials } = await complete(
      {
        redirect_uris: ["https://chat.example/api/mcp/tracker/oauth/callback"],
        token_endpoint_auth_method: "client_secret_post",
      },
      { resource: product.url },
    );
    const form = { grant_type: "refresh_token", refresh_token: answer.body.refresh_token };
    const refreshed = await Promise.all([1, 2, 3].map(() => requestTokens(product, form, credentials)));
    for (const { status, body } of refreshed) {
      assert.equal(status, 200, JSON.stringify(body));
      assert.ok(await works(body.access_token));
    }
  });

  test("mcp-remote compares the redirect URIs that come back with its own (punkpeye/mcp-remote#292)", async () => {
    const redirect_uris = ["http://localhost:3335/oauth/callback"];
    const { registered } = await complete(
      { redirect_uris, token_endpoint_auth_method: "none" },
      { resource: product.url },
    );
    assert.deepEqual(registered["redirect_uris"], redirect_uris);
  });

  test("VS Code signs in by its web redirect, too, and prompt=select_account is no error", async () => {
    const { answer } = await complete(
      { redirect_uris: ["https://vscode.dev/redirect", "http://127.0.0.1:33418/"], token_endpoint_auth_method: "none" },
      { resource: product.url, prompt: "select_account consent" },
    );
    assert.ok(await works(answer.body.access_token));
  });

  test("localhost and 127.0.0.1 are two addresses for a redirect, and one for the resource", async () => {
    const { port } = new URL(origin);
    const metadata = { redirect_uris: ["http://localhost/callback"], token_endpoint_auth_method: "none" };
    const { answer } = await complete(metadata, {
      redirect_uri: "http://localhost:5999/callback",
      resource: `http://LOCALHOST:${port}/mcp/`,
    });
    assert.ok(await works(answer.body.access_token));
    const { body } = await register(product, metadata);
    const path = authorizePath({
      client_id: String(body["client_id"]),
      redirect_uri: "http://127.0.0.1:5999/callback",
      code_challenge: pkce().challenge,
    });
    const page = await visitor.get(path);
    assert.deepEqual([page.status, page.location], [400, null]);
    assert.match(page.text, /asks for the answer at another address/);
  });

  test("SDK v1 keeps only the scopes of the last challenge, so that each one names them all (modelcontextprotocol/typescript-sdk#1582)", async () => {
    const { headers } = await fetch(product.url, { method: "POST", headers: { authorization: "Bearer wrong" } });
    assert.match(headers.get("www-authenticate") ?? "", /scope="mcp:read mcp:write"/);
  });

  test("a browser that is not signed in goes through the sign-in page and lands at the client", async () => {
    const { body } = await register(product, {
      redirect_uris: ["http://127.0.0.1:54321/callback"],
      token_endpoint_auth_method: "none",
    });
    const path = authorizePath({
      client_id: String(body["client_id"]),
      redirect_uri: "http://127.0.0.1:54321/callback",
      code_challenge: pkce().challenge,
      resource: product.url,
    });
    const { redirect, pages } = await authorizeHeadless(origin + path, { person: ADMIN });
    assert.ok(redirect?.searchParams.get("code"));
    assert.equal(redirect?.searchParams.get("iss"), origin);
    assert.equal(pages.length, 2);
    for (const { headers } of pages) assert.doesNotMatch(headers.get("content-security-policy") ?? "", /form-action/);
  });
});
