import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Browser, Page } from "playwright-core";
import { chromiumSkip, openChromium, picture } from "./fixtures/chromium.ts";
import { CLIENT, type IdentityProvider, startIdentityProvider } from "./fixtures/identity-provider.ts";
import { authorizePath, pkce, publicClient, requestTokens } from "./fixtures/oauth-client.ts";
import { signedInAdmin } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { createSamlIdentityProvider } from "./fixtures/saml-provider.ts";

describe("signing in through another server with a real browser", { skip: chromiumSkip }, () => {
  const saml = createSamlIdentityProvider("idp.example");
  let product: Product;
  let company: IdentityProvider;
  let browser: Browser;
  /** The page of the SAML provider: on `localhost`, which is another site than 127.0.0.1. */
  const samlPage = createServer(async (request, response) => {
    // Browsers ask for an icon, too.
    if (!request.url?.startsWith("/sso?")) return response.writeHead(404).end();
    const metadata = await (await fetch(new URL("/sign-in/with/sso/metadata", product.url))).text();
    const url = new URL(request.url ?? "/", "http://localhost");
    const form = await saml.answer(url.href, metadata, { subject: "q-1", attributes: { email: "quinn@acme.example" } });
    const fields = Object.entries(form).map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`);
    const action = new URL("/sign-in/with/sso/callback", product.url).href;
    response.setHeader("content-type", "text/html");
    return response.end(
      `<form method="post" action="${action}">${fields.join("")}<button>Go on as Quinn</button></form>`,
    );
  });
  before(async () => {
    await new Promise<void>((resolve) => samlPage.listen(0, "localhost", resolve));
    const address = samlPage.address();
    const entryPoint = `http://localhost:${typeof address === "object" && address ? address.port : 0}/sso`;
    company = await startIdentityProvider();
    process.env["TEST_IDP_SECRET"] = CLIENT.secret;
    product = await startProduct({
      endpoints: { support: { label: "Support", principals: { roles: ["member"] } } },
      files: {
        "jackfield.yml": configuration({ issuer: company.issuer, saml: saml.entityId, entryPoint }),
        "idp.pem": saml.certificate,
      },
    });
    company.serve([new URL("/sign-in/with/company/callback", product.url).href]);
    company.accounts.set("b-1", { name: "Blake Moor", preferred_username: "blake" });
    await signedInAdmin(product);
    browser = await openChromium();
  });
  after(async () => {
    await browser?.close();
    await product?.[Symbol.asyncDispose]();
    await company?.close();
    samlPage.closeAllConnections();
    samlPage.close();
  });

  /** From the sign-in page of a client's authorization to a called tool; `comeIn` is what the person does there. */
  const callThrough = async (comeIn: (page: Page) => Promise<void>) => {
    const page = await (await browser.newContext()).newPage();
    const blocked: string[] = [];
    page.on("console", (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) blocked.push(message.text());
    });
    const redirectUri = "cursor://anysphere.cursor-mcp/oauth/callback";
    const clientId = await publicClient(product, redirectUri);
    const { verifier, challenge } = pkce();
    const resource = product.endpoint("support");
    const request = { client_id: clientId, redirect_uri: redirectUri, code_challenge: challenge, resource };
    await page.goto(new URL(authorizePath(request), product.url).href);
    await comeIn(page);
    await page.getByRole("heading", { name: "Allow Test client to use" }).waitFor();
    const answered = page.waitForResponse((response) => (response.headers()["location"] ?? "").startsWith("cursor:"));
    await page.getByRole("button", { name: "Allow" }).click();
    const callback = new URL((await answered).headers()["location"] ?? "");
    assert.deepEqual(blocked, []);
    const { body } = await requestTokens(product, {
      grant_type: "authorization_code",
      code: callback.searchParams.get("code") ?? "",
      code_verifier: verifier,
      redirect_uri: redirectUri,
      client_id: clientId,
      resource,
    });
    const client = new Client({ name: "browser test", version: "1" });
    const headers = { authorization: `Bearer ${body.access_token}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(resource), { requestInit: { headers } }));
    const result = await client.callTool({ name: "tool_search", arguments: { query: "anything" } });
    assert.ok(!result.isError);
    await client.close();
    return page;
  };

  test("with OpenID Connect, from the sign-in page to a called tool", async () => {
    company.expect("b-1");
    const page = await callThrough(async (shown) => {
      await picture(shown, "sign-in-with-providers");
      await shown.getByRole("button", { name: "Continue with The company" }).click();
    });
    await page.goto(new URL("/account", product.url).href);
    await page.getByRole("heading", { name: "Blake Moor" }).waitFor();
    await page.getByRole("button", { name: "Unlink blake" }).waitFor();
    await picture(page, "account");
  });

  test("with SAML, whose answer another site posts without our cookies", async () => {
    await callThrough(async (shown) => {
      await shown.getByRole("button", { name: "Continue with Acme SAML" }).click();
      await shown.getByRole("button", { name: "Go on as Quinn" }).click();
    });
  });
});

function configuration(of: { issuer: string; saml: string; entryPoint: string }): string {
  return `version: 1
oauth: { clientDocuments: off }
signIn:
  - id: company
    type: oidc
    label: The company
    issuer: ${of.issuer}
    clientId: ${CLIENT.id}
    clientSecret: \${env:TEST_IDP_SECRET}
    admit: everyone
  - id: sso
    type: saml
    label: Acme SAML
    issuer: ${of.saml}
    entryPoint: ${of.entryPoint}
    certificate: ./idp.pem
    admit: everyone
`;
}
