import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import type { Browser, Page } from "playwright-core";
import { chromiumSkip, openChromium, picture } from "./fixtures/chromium.ts";
import { authorizePath, pkce, publicClient, requestTokens } from "./fixtures/oauth-client.ts";
import { ADMIN, signedInAdmin } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";

describe("signing in with a real browser", { skip: chromiumSkip }, () => {
  let product: Product;
  let browser: Browser;
  before(async () => {
    product = await startProduct({ files: { "jackfield.yml": "version: 1\noauth: { clientDocuments: off }\n" } });
    await signedInAdmin(product);
    browser = await openChromium();
  });
  after(async () => {
    await browser?.close();
    await product[Symbol.asyncDispose]();
  });

  /** A page in a fresh profile, and what its console said about blocked things. */
  const openPage = async () => {
    const page = await (await browser.newContext()).newPage();
    const blocked: string[] = [];
    page.on("console", (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) blocked.push(message.text());
    });
    return { page, blocked };
  };
  const signIn = async (page: Page, url: string) => {
    await page.goto(url);
    await page.getByLabel("Username").fill(ADMIN.username);
    await page.getByLabel("Password").fill(ADMIN.password);
    await page.getByRole("button", { name: "Sign in" }).click();
  };

  test("from a 401 through sign-in and consent to a called tool", async () => {
    const { page, blocked } = await openPage();
    const called = Promise.withResolvers<URL>();
    const callback = createServer((request, response) => {
      called.resolve(new URL(request.url ?? "/", "http://127.0.0.1"));
      response.end("You can close this page.");
    });
    await new Promise<void>((resolve) => callback.listen(0, "127.0.0.1", resolve));
    const address = callback.address();
    const redirectUrl = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/callback`;
    const kept: {
      client?: { client_id: string };
      tokens?: { access_token: string; token_type: string };
      verifier: string;
      url?: URL;
    } = { verifier: "" };
    const authProvider = {
      redirectUrl,
      clientMetadata: { client_name: "A program on my computer", redirect_uris: [redirectUrl] },
      clientInformation: () => kept.client,
      saveClientInformation: (client: { client_id: string }) => void Object.assign(kept, { client }),
      tokens: () => kept.tokens,
      saveTokens: (tokens: { access_token: string; token_type: string }) => void Object.assign(kept, { tokens }),
      saveCodeVerifier: (verifier: string) => void Object.assign(kept, { verifier }),
      codeVerifier: () => kept.verifier,
      redirectToAuthorization: (url: URL) => void Object.assign(kept, { url }),
    };
    const connect = async () => {
      const client = new Client({ name: "browser test", version: "1" });
      const transport = new StreamableHTTPClientTransport(new URL(product.url), { authProvider });
      return { client, transport, connected: client.connect(transport) };
    };
    const first = await connect();
    await assert.rejects(first.connected, UnauthorizedError);
    await signIn(page, String(kept.url));
    await page.getByRole("heading", { name: "Allow A program on my computer to use" }).waitFor();
    await page.getByRole("button", { name: "Allow" }).click();
    await first.transport.finishAuth((await called.promise).searchParams);
    const { client, connected } = await connect();
    await connected;
    const result = await client.callTool({ name: "tool_search", arguments: { query: "anything" } });
    assert.ok(!result.isError);
    assert.deepEqual(blocked, []);
    await client.close();
    callback.closeAllConnections();
    callback.close();
  });

  test("the answer reaches a program that opens a scheme of its own: no policy of ours stops the hop", async () => {
    const { page, blocked } = await openPage();
    const redirectUri = "cursor://anysphere.cursor-mcp/oauth/callback";
    const clientId = await publicClient(product, redirectUri);
    const { verifier, challenge } = pkce();
    const request = {
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: challenge,
      resource: product.url,
    };
    await signIn(page, new URL(authorizePath(request), product.url).href);
    await page.getByText("whichever program on this device opens cursor: links").waitFor();
    const answered = page.waitForResponse((response) => (response.headers()["location"] ?? "").startsWith("cursor:"));
    await page.getByRole("button", { name: "Allow" }).click();
    const location = new URL((await answered).headers()["location"] ?? "");
    assert.deepEqual(blocked, []);
    const tokens = await requestTokens(product, {
      grant_type: "authorization_code",
      code: location.searchParams.get("code") ?? "",
      code_verifier: verifier,
      redirect_uri: redirectUri,
      client_id: clientId,
    });
    assert.equal((await postModern(product.url, tokens.body.access_token, "tools/list")).status, 200);
  });

  test("the page reads well without scripts and fits a phone", async () => {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 }, javaScriptEnabled: false });
    const page = await context.newPage();
    const clientId = await publicClient(product);
    const request = {
      client_id: clientId,
      redirect_uri: "http://127.0.0.1:33999/callback",
      code_challenge: pkce().challenge,
    };
    await signIn(page, new URL(authorizePath(request), product.url).href);
    await page.getByRole("button", { name: "Deny" }).waitFor();
    await picture(page, "consent");
    const [width, boxes] = [
      await page.locator("main").evaluate((main) => main.scrollWidth),
      await page.getByRole("checkbox").count(),
    ];
    assert.ok(width <= 360, `the page is ${width} wide`);
    assert.equal(boxes, 2);
  });
});
