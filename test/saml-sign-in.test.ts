import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createVisitor, signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { lastSignIn, whoIs } from "./fixtures/people-room.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { createSamlIdentityProvider, type SamlAnswer } from "./fixtures/saml-provider.ts";

const CALLBACK = "/sign-in/with/sso/callback";

describe("signing in through a SAML identity provider", () => {
  const provider = createSamlIdentityProvider("idp.example");
  let product: Product;
  let metadata: string;
  before(async () => {
    product = await startProduct({
      files: {
        "jackfield.yml": configuration(provider.entityId),
        "idp.pem": provider.certificate,
      },
    });
    await signedInAdmin(product);
    const response = await fetch(new URL("/sign-in/with/sso/metadata", product.url));
    assert.equal(response.status, 200);
    metadata = await response.text();
  });
  after(() => product?.[Symbol.asyncDispose]());

  const visit = () => createVisitor(new URL(product.url).origin);
  const begin = async (visitor: Visitor, fields: Record<string, string> = {}) => {
    await visitor.get("/sign-in");
    const { location, status, text } = await visitor.post("/sign-in/with/sso", fields);
    assert.equal(status, 303, text);
    return location ?? "";
  };
  /** Posted as the provider's page posts it: from another site, without our cookies and our form's token. */
  const post = (form: Record<string, string>) =>
    fetch(new URL(CALLBACK, product.url), {
      method: "POST",
      body: new URLSearchParams(form),
      headers: { accept: "text/html", origin: "https://idp.example", "sec-fetch-site": "cross-site" },
      redirect: "manual",
    });
  const comeFor = async (visitor: Visitor, posted: Response) => {
    assert.equal(posted.status, 303, await posted.text());
    return visitor.get(posted.headers.get("location") ?? "");
  };
  const signIn = async (visitor: Visitor, answer: SamlAnswer, fields: Record<string, string> = {}) =>
    comeFor(visitor, await post(await provider.answer(await begin(visitor, fields), metadata, answer)));
  /** Signs in with an answer that must be refused; the reason in the audit. */
  const refusalOf = async (answer: SamlAnswer): Promise<string> => {
    const visitor = visit();
    assert.ok((await signIn(visitor, answer)).status >= 400);
    assert.equal(await whoIs(visitor), undefined);
    const { decision, rule, reason } = await lastSignIn(product);
    assert.deepEqual([decision, rule], ["refuse", "sso"]);
    return reason ?? "";
  };

  test("our metadata names the callback and asks for signed assertions", () => {
    assert.match(metadata, /WantAssertionsSigned="true"/);
    assert.ok(metadata.includes(`Location="${new URL(CALLBACK, product.url).href}"`));
  });

  test("a signed assertion lets somebody in, with groups, and the next one is the same person", async () => {
    const attributes = { email: "ira@acme.example", name: "Ira Bell", memberOf: ["ops", "oncall"] };
    const visitor = visit();
    const entered = await signIn(visitor, { subject: "p-1", attributes }, { returnTo: "/account" });
    assert.equal(entered.location, "/account");
    assert.equal(await whoIs(visitor), "ira@sso");
    assert.match((await visitor.get("/account")).text, /in the groups oncall, ops</);
    const again = visit();
    await signIn(again, { subject: "p-1" });
    assert.equal(await whoIs(again), "ira@sso");
    assert.doesNotMatch((await again.get("/account")).text, /in the groups/);
  });

  test("the same answer again is refused, and stands in the audit", async () => {
    const visitor = visit();
    const form = await provider.answer(await begin(visitor), metadata, { subject: "p-1" });
    assert.equal((await comeFor(visitor, await post(form))).status, 303);
    const replayed = await post(form);
    assert.equal(replayed.status, 400);
    assert.deepEqual(await lastSignIn(product), {
      decision: "refuse",
      rule: "sso",
      reason: "an answer was sent again",
    });
  });

  test("an assertion that was used is worth nothing on another way, even in a response that claims to answer it", async () => {
    const first = visit();
    const used = await provider.answer(await begin(first), metadata, { subject: "p-1" });
    await comeFor(first, await post(used));
    const thief = visit();
    const own = new URL(await begin(thief));
    const mine = await provider.answer(own.href, metadata, { subject: "nobody" });
    const requestId = /<samlp:Response[^>]* InResponseTo="([^"]+)"/.exec(decoded(mine.SAMLResponse))?.[1] ?? "";
    // The response around a signed assertion is not signed: it can be made to say anything.
    const wrapped = decoded(used.SAMLResponse).replace(/(<samlp:Response[^>]* InResponseTo=")[^"]+/, `$1${requestId}`);
    const RelayState = own.searchParams.get("RelayState") ?? "";
    const refused = await comeFor(thief, await post({ SAMLResponse: encoded(wrapped), RelayState }));
    assert.equal(refused.status, 400);
    assert.equal(await whoIs(thief), undefined);
    assert.match((await lastSignIn(product)).reason ?? "", /InResponseTo/);
  });

  test("an assertion that says in nothing signed which request it answers is refused", async () => {
    const visitor = visit();
    const url = await begin(visitor);
    const form = await provider.answer(url, metadata, { subject: "p-1", tags: { InResponseTo: "" } });
    const request = await provider.answer(url, metadata, { subject: "p-1" });
    const requestId = /<samlp:Response[^>]* InResponseTo="([^"]+)"/.exec(decoded(request.SAMLResponse))?.[1] ?? "";
    const wrapped = decoded(form.SAMLResponse).replace(/(<samlp:Response[^>]* InResponseTo=")/, `$1${requestId}`);
    const refused = await comeFor(visitor, await post({ ...form, SAMLResponse: encoded(wrapped) }));
    assert.equal(refused.status, 400);
    assert.match((await lastSignIn(product)).reason ?? "", /does not answer this request/);
  });

  test("an answer that began in another browser signs nobody in", async () => {
    const form = await provider.answer(await begin(visit()), metadata, { subject: "p-1" });
    const victim = visit();
    await begin(victim);
    const refused = await comeFor(victim, await post(form));
    assert.match(refused.text, /began in another browser/);
    assert.equal(await whoIs(victim), undefined);
    assert.match((await lastSignIn(product)).reason ?? "", /another browser/);
  });

  test("assertions that are forged, unsigned, changed, of another issuer, or not for us are refused", async () => {
    assert.match(await refusalOf({ subject: "p-1", forged: true }), /signature/i);
    assert.match(await refusalOf({ subject: "p-1", tags: { Issuer: "https://other.example" } }), /another issuer/);
    assert.match(await refusalOf({ subject: "p-1", tags: { Audience: "https://other.example" } }), /audience/i);
    assert.match(
      await refusalOf({ subject: "p-1", tags: { SubjectRecipient: "https://other.example" } }),
      /this address/,
    );
    const transient = { NameIDFormat: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" };
    assert.match(await refusalOf({ subject: "p-1", tags: transient }), /this once only/);
    const old = new Date(Date.now() - 600_000).toISOString();
    const expired = { ConditionsNotOnOrAfter: old, SubjectConfirmationDataNotOnOrAfter: old };
    assert.match(await refusalOf({ subject: "p-1", tags: expired }), /subject confirmation|expired/i);
    for (const change of [
      (xml: string) => xml.replace(/<ds:Signature[\s\S]*<\/ds:Signature>/, ""),
      (xml: string) => xml.replace(">p-1<", ">p-2<"),
      (xml: string) => `<!DOCTYPE a [<!ENTITY b "c">]>${xml}`,
    ]) {
      const visitor = visit();
      const form = await provider.answer(await begin(visitor), metadata, { subject: "p-1" });
      const changed = { ...form, SAMLResponse: encoded(change(decoded(form.SAMLResponse))) };
      assert.equal((await comeFor(visitor, await post(changed))).status, 400);
      assert.equal((await lastSignIn(product)).decision, "refuse");
    }
  });

  test("an answer that nobody asked for, or with an address as its RelayState, leads nowhere", async () => {
    const { SAMLResponse } = await provider.answer(await begin(visit()), metadata, { subject: "p-1" });
    for (const RelayState of ["", "https://evil.example/", "//evil.example", "x".repeat(43)]) {
      const answered = await post({ SAMLResponse, RelayState });
      assert.equal(answered.status, 400);
      assert.equal(answered.headers.get("location"), null);
    }
  });
});

const decoded = (text: string): string => Buffer.from(text, "base64").toString("utf8");
const encoded = (text: string): string => Buffer.from(text).toString("base64");

function configuration(issuer: string): string {
  return `version: 1
signIn:
  - id: sso
    type: saml
    issuer: ${issuer}
    entryPoint: https://idp.example/sso
    certificate: ./idp.pem
    admit: everyone
    groups: { claim: memberOf }
`;
}
