import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromiumSkip, openChromium, picture, watchComplaints } from "../fixtures/chromium.ts";
import { ADMIN, setupPath } from "../fixtures/page-visitor.ts";
import { type Product, startProduct } from "../fixtures/product.ts";

const PHONE = { width: 320, height: 640 };
const DESK = { width: 1280, height: 800 };

describe("the sign-in pages in Chromium", { skip: chromiumSkip }, () => {
  let browser: Browser;
  let product: Product;
  let origin: string;
  before(async () => {
    [browser, product] = await Promise.all([openChromium(), startProduct()]);
    ({ origin } = new URL(product.url));
  });
  after(async () => {
    await browser?.close();
    await product?.[Symbol.asyncDispose]();
  });

  /** A browser of its own whose complaints are kept. */
  async function visit(options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
    const context = await browser.newContext({ viewport: DESK, javaScriptEnabled: false, ...options });
    const page = await context.newPage();
    return { page, complaints: watchComplaints(page) };
  }

  async function signIn(page: Page, password: string = ADMIN.password): Promise<void> {
    await page.getByLabel("Username").fill(ADMIN.username);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  const heading = (page: Page) => page.getByRole("heading", { level: 1 }).textContent();
  const overflows = async (page: Page) => {
    // Measured from outside, because the page runs no script.
    const box = await page.locator("html").boundingBox();
    const content = await page.locator("main").boundingBox();
    return (content?.x ?? 0) < 0 || (content?.x ?? 0) + (content?.width ?? 0) > (box?.width ?? 0);
  };

  test("a setup link leads, without JavaScript, from a wrong form to a signed-in admin, by keyboard alone", async () => {
    const { page, complaints } = await visit();
    await page.goto(origin + (await setupPath(product)));
    await picture(page, "setup");
    await page.getByLabel("Your name").fill(ADMIN.name);
    await page.keyboard.press("Tab");
    await page.keyboard.type("Not A Name!");
    await page.keyboard.press("Tab");
    await page.keyboard.type("short");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await picture(page, "setup-wrong");
    assert.match(await page.title(), /^Error: /);
    assert.equal(await page.getByLabel("Your name").inputValue(), ADMIN.name);
    assert.equal(await page.getByLabel("Password").inputValue(), "");
    assert.equal(await page.getByLabel("Username").getAttribute("aria-invalid"), "true");
    await page.getByLabel("Username").fill(ADMIN.username);
    await page.getByLabel("Password").fill(ADMIN.password);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${origin}/`);
    assert.equal(await heading(page), `You are signed in, ${ADMIN.name}`);
    await picture(page, "home");
    assert.deepEqual(complaints, []);
  });

  test("a person signs in, comes back to where they were, and signs out", async () => {
    const { page, complaints } = await visit();
    await page.goto(`${origin}/sign-out`);
    assert.equal(await heading(page), "Sign in");
    await picture(page, "sign-in");
    await signIn(page, "not the password");
    assert.equal(await page.getByRole("alert").textContent(), "Username or password is wrong.");
    assert.equal(await page.getByLabel("Username").inputValue(), ADMIN.username);
    await picture(page, "sign-in-wrong");
    await signIn(page);
    await page.waitForURL(`${origin}/sign-out`);
    await picture(page, "sign-out");
    await page.getByRole("button", { name: "Sign out" }).click();
    // A click does not wait for the page it leads to.
    await page.getByRole("heading", { name: "You are signed out" }).waitFor();
    await picture(page, "signed-out");
    await page.goBack();
    await page.goto(`${origin}/`);
    assert.equal(await heading(page), "Sign in");
    assert.deepEqual(complaints, []);
  });

  test("a page of another site can neither send a form of ours nor read or frame a page", async () => {
    const { page } = await visit({ javaScriptEnabled: true });
    await page.goto(`${origin}/sign-in`);
    await signIn(page);
    await page.waitForURL(`${origin}/`);
    const evil = createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<form method="post" action="${origin}/sign-out"><input name="csrf" value="guess"><button>Win</button></form>
        <iframe src="${origin}/sign-in"></iframe>`);
    });
    await new Promise<void>((resolve) => evil.listen(0, "127.0.0.1", resolve));
    try {
      // Another port is another origin on the same site, so that cookies come along.
      await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
      assert.equal(await page.frameLocator("iframe").getByLabel("Username").count(), 0);
      await page.getByRole("button", { name: "Win" }).click();
      assert.equal(await heading(page), "This form is too old");
      await page.goto(`${origin}/`);
      assert.equal(await heading(page), `You are signed in, ${ADMIN.name}`);
    } finally {
      evil.close();
    }
  });

  for (const [name, options] of [
    ["dark", { colorScheme: "dark" }],
    ["phone", { viewport: PHONE, hasTouch: true, isMobile: true }],
    ["phone-dark", { viewport: PHONE, hasTouch: true, isMobile: true, colorScheme: "dark" }],
  ] as const) {
    test(`every page fits and is drawn without complaint: ${name}`, async () => {
      const { page, complaints } = await visit(options);
      for (const [file, path, title] of [
        ["sign-in", "/sign-in", "Sign in"],
        ["missing", "/nowhere", "There is nothing at this address"],
        ["link-ended", "/setup/none", "This link does not work any more"],
      ] as const) {
        await page.goto(origin + path);
        assert.equal(await heading(page), title);
        assert.equal(await overflows(page), false, path);
        await picture(page, `${file}-${name}`);
      }
      await page.goto(`${origin}/sign-in`);
      await signIn(page, "not the password");
      await picture(page, `sign-in-wrong-${name}`);
      const button = await page.getByRole("button", { name: "Sign in" }).boundingBox();
      assert.ok((button?.height ?? 0) >= ("hasTouch" in options ? 44 : 32));
      assert.deepEqual(complaints, []);
    });
  }
});
