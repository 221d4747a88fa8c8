import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CLIENT, type IdentityProvider, startIdentityProvider } from "./fixtures/identity-provider.ts";
import { signInClient } from "./fixtures/oauth-client.ts";
import { createVisitor, signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { eventsOf, invitationPath, invitedPerson, lastSignIn, personId, whoIs } from "./fixtures/people-room.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";

describe("signing in through an OpenID Connect provider", () => {
  let product: Product;
  let company: IdentityProvider;
  let other: IdentityProvider;
  before(async () => {
    company = await startIdentityProvider();
    other = await startIdentityProvider();
    process.env["TEST_IDP_SECRET"] = CLIENT.secret;
    product = await startProduct({
      endpoints: {
        support: { label: "Support", principals: { groups: ["support"] } },
      },
      files: { "jackfield.yml": configuration(company.issuer, other.issuer) },
    });
    const origin = new URL(product.url).origin;
    company.serve(["company", "invited", "open"].map((id) => `${origin}/sign-in/with/${id}/callback`));
    other.serve([`${origin}/sign-in/with/other/callback`]);
    await signedInAdmin(product);
  });
  after(async () => {
    await product?.[Symbol.asyncDispose]();
    await company?.close();
    await other?.close();
  });

  const visit = () => createVisitor(new URL(product.url).origin);
  /** Presses the button of a provider; where the browser goes. */
  const press = async (visitor: Visitor, provider: string, fields: Record<string, string> = {}) => {
    if (fields["for"] === undefined) await visitor.get("/sign-in");
    const { location, status, text } = await visitor.post(`/sign-in/with/${provider}`, fields);
    assert.equal(status, 303, text);
    return location ?? "";
  };
  const signIn = async (
    visitor: Visitor,
    provider: string,
    account: string | null,
    fields: Record<string, string> = {},
  ) => {
    const at = provider === "other" ? other : company;
    const { pathname, search } = await at.signIn(await press(visitor, provider, fields), account);
    return visitor.get(pathname + search);
  };

  test("the page offers a button for each provider, and none of their secrets", async () => {
    const { text } = await visit().get("/sign-in");
    assert.match(text, /Continue with The company/);
    assert.match(text, /action="\/sign-in\/with\/other"/);
    assert.ok(!text.includes(CLIENT.secret));
  });

  test("the request carries state, nonce and PKCE, new each time, and its own callback", async () => {
    const urls = [await press(visit(), "company"), await press(visit(), "company")].map((url) => new URL(url));
    const [first, second] = urls.map(({ searchParams }) => Object.fromEntries(searchParams));
    assert.ok(first && second);
    assert.equal(first["code_challenge_method"], "S256");
    assert.match(first["redirect_uri"] ?? "", /\/sign-in\/with\/company\/callback$/);
    for (const name of ["state", "nonce", "code_challenge"]) {
      assert.match(first[name] ?? "", /^[\w-]{43}$/);
      assert.notEqual(first[name], second[name]);
    }
  });

  test("somebody with a verified address of a listed domain is admitted, with groups and claims, and comes back as the same", async () => {
    company.accounts.set("u-1", {
      ...{ name: "Erin Vale", preferred_username: "erin", email: "erin@acme.example", email_verified: true },
      ...{ groups: ["grp-7", "unmapped"], department: "Harbour" },
    });
    const visitor = visit();
    assert.equal((await signIn(visitor, "company", "u-1", { returnTo: "/account" })).location, "/account");
    assert.equal(await whoIs(visitor), "erin@company");
    assert.match((await visitor.get("/account")).text, /Member, in the groups support</);
    assert.deepEqual(await lastSignIn(product), { decision: "allow", rule: "company", reason: null });
    const again = visit();
    await signIn(again, "company", "u-1");
    assert.equal(await whoIs(again), "erin@company");
    assert.equal(await product.app.store.models.identities.count({ where: { subject: "u-1" } }), 1);
  });

  test("groups and claims decide what a client of theirs may use, and follow the next sign-in within a second", async () => {
    const visitor = visit();
    await signIn(visitor, "company", "u-1");
    const resource = product.endpoint("support");
    const { tokens } = await signInClient(product, visitor, { resource });
    const statusOf = async () => (await postModern(resource, tokens.access_token, "tools/list")).status;
    assert.equal(await statusOf(), 200);
    const found = product.app.registry.endpoint(undefined, "support")?.endpoint;
    const person = await product.app.oauth.tokens.verify(tokens.access_token, found);
    assert.deepEqual(person?.principal.variables, {
      "principal.email": "erin@acme.example",
      "principal.department": "Harbour",
      "principal.id": await personId(product, "erin@company"),
      "principal.username": "erin@company",
    });
    company.accounts.set("u-1", {
      ...company.accounts.get("u-1"),
      groups: [],
      department: "Quay",
      email_verified: false,
    });
    await signIn(visit(), "company", "u-1");
    assert.equal(await statusOf(), 404);
    const later = await product.app.oauth.tokens.verify(tokens.access_token, found);
    assert.equal(
      later?.principal.variables["principal.email"],
      undefined,
      "an address that is not verified says nothing",
    );
    assert.equal(later?.principal.variables["principal.department"], "Quay");
  });

  test("an address that is not verified admits nobody, whatever its domain", async () => {
    company.accounts.set("u-2", { name: "Mallory", email: "boss@acme.example", email_verified: false });
    const visitor = visit();
    const refused = await signIn(visitor, "company", "u-2");
    assert.equal(refused.status, 403);
    assert.match(refused.text, /You have no account here/);
    assert.equal(await whoIs(visitor), undefined);
    const { decision, reason } = await lastSignIn(product);
    assert.deepEqual([decision, reason], ["refuse", "not known here, and without a verified mail address"]);
  });

  test("an address of another domain admits nobody", async () => {
    company.accounts.set("u-3", { name: "Nora", email: "nora@acme.example.evil.example", email_verified: true });
    assert.equal((await signIn(visit(), "company", "u-3")).status, 403);
    assert.match((await lastSignIn(product)).reason ?? "", /none of the admitted domains/);
  });

  test("nobody takes over an account by its mail address", async () => {
    const { people } = product.app.store.models;
    await people.update({ email: "dana@acme.example" }, { where: { username: "dana" } });
    // Another issuer, where anybody can verify whatever mail they read once, and one that admits everyone.
    const claims = { name: "Dana Reyes", preferred_username: "dana", email: "dana@acme.example", email_verified: true };
    other.accounts.set("d-1", claims);
    const stranger = visit();
    assert.equal((await signIn(stranger, "other", "d-1")).status, 403);
    assert.deepEqual(await lastSignIn(product), {
      ...{ decision: "refuse", rule: "other" },
      reason: "not known here, and only the invited are admitted",
    });
    company.accounts.set("d-1", claims);
    const admitted = visit();
    assert.equal((await signIn(admitted, "open", "d-1")).status, 303);
    assert.equal(await whoIs(admitted), "dana@open", "somebody new, with a name of their own");
    assert.equal((await people.findAll({ where: { email: "dana@acme.example" } })).length, 2);
  });

  test("the same subject at another issuer is somebody else", async () => {
    other.accounts.set("u-1", company.accounts.get("u-1") ?? {});
    assert.equal((await signIn(visit(), "other", "u-1")).status, 403);
  });

  test("an answer that another browser began signs nobody in, and stands in the audit", async () => {
    const attacker = visit();
    const { pathname, search } = await company.signIn(await press(attacker, "company"), "u-1");
    const victim = visit();
    await press(victim, "company");
    const refused = await victim.get(pathname + search);
    assert.match(refused.text, /began in another browser/);
    assert.equal(await whoIs(victim), undefined);
    const { decision, reason } = await lastSignIn(product);
    assert.equal(decision, "refuse");
    assert.match(reason ?? "", /another browser/);
  });

  test("an answer works once", async () => {
    const visitor = visit();
    const { pathname, search } = await company.signIn(await press(visitor, "company"), "u-1");
    assert.equal((await visitor.get(pathname + search)).status, 303);
    const again = await visitor.get(pathname + search);
    assert.match(again.text, /used already/);
    assert.equal((await lastSignIn(product)).reason, "an answer was sent again");
  });

  test("an answer that names another issuer is refused", async () => {
    const visitor = visit();
    const back = await company.signIn(await press(visitor, "company"), "u-1");
    assert.equal(back.searchParams.get("iss"), company.issuer);
    back.searchParams.set("iss", other.issuer);
    const refused = await visitor.get(back.pathname + back.search);
    assert.equal(refused.status, 400);
    assert.equal(await whoIs(visitor), undefined);
    assert.match((await lastSignIn(product)).reason ?? "", /iss/);
  });

  test("an answer of one provider at the callback of another is refused", async () => {
    const visitor = visit();
    const back = await company.signIn(await press(visitor, "company"), "u-1");
    const refused = await visitor.get(`/sign-in/with/other/callback${back.search}`);
    assert.equal(refused.status, 400);
    assert.match((await lastSignIn(product)).reason ?? "", /at another provider/);
    assert.equal(await whoIs(visitor), undefined);
  });

  test("whoever says no there is told so", async () => {
    const refused = await signIn(visit(), "company", null);
    assert.match(refused.text, /The sign-in was cancelled/);
    assert.equal((await lastSignIn(product)).decision, "refuse");
  });

  test("a wish to return to another site leads to the start page", async () => {
    for (const returnTo of ["https://evil.example/", "//evil.example", "/\\evil.example"]) {
      assert.equal((await signIn(visit(), "company", "u-1", { returnTo })).location, "/");
    }
  });

  test("a button needs the form's token, so that no other page begins a sign-in", async () => {
    const visitor = visit();
    await visitor.get("/sign-in");
    assert.equal((await visitor.post("/sign-in/with/company", { csrf: "x" })).status, 403);
  });

  test("who is signed in links a further sign-in, and comes in with it from then on", async () => {
    const sam = await invitedPerson(product, "sam");
    await sam.get("/account");
    other.accounts.set("s-1", { name: "Samantha", email: "sam@elsewhere.example" });
    assert.equal((await signIn(sam, "other", "s-1", { for: "link" })).location, "/account");
    assert.match((await sam.get("/account")).text, /sam@elsewhere\.example/);
    const elsewhere = visit();
    await signIn(elsewhere, "other", "s-1");
    assert.equal(await whoIs(elsewhere), "sam");
    assert.ok((await eventsOf(product, "people")).some(({ rule }) => rule === "identity_linked"));
  });

  test("linking needs a sign-in of the last minutes: who finds a browser open adds no way in of their own", async () => {
    const left = await invitedPerson(product, "lee");
    const where = { personId: await personId(product, "lee") };
    await product.app.store.models.webSessions.update(
      { authenticatedAt: new Date(Date.now() - 16 * 60_000) },
      { where },
    );
    await left.get("/account");
    assert.equal(await press(left, "other", { for: "link" }), "/sign-in?again=1&returnTo=%2Faccount");
    assert.equal((await left.get("/sign-in?again=1&returnTo=%2Faccount")).status, 200);
    const fields = { username: "lee", password: "seven quiet harbours", returnTo: "/account" };
    assert.equal((await left.post("/sign-in", fields)).location, "/account");
    await left.get("/account");
    assert.match(await press(left, "other", { for: "link" }), /^http:\/\/127\.0\.0\.1:\d+\/auth\?/);
  });

  test("an identity that is somebody's is linked to nobody else, and nobody's session becomes another's", async () => {
    const tess = await invitedPerson(product, "tess");
    await tess.get("/account");
    const refused = await signIn(tess, "other", "s-1", { for: "link" });
    assert.match(refused.text, /belongs to somebody else/);
    assert.equal(await whoIs(tess), "tess");
    const { decision, reason } = await lastSignIn(product);
    assert.deepEqual([decision, reason], ["refuse", "not linked to tess: taken"]);
  });

  test("a link that began for one person adds nothing to another one", async () => {
    const visitor = await invitedPerson(product, "uma");
    await visitor.get("/account");
    other.accounts.set("v-1", { name: "V" });
    const { pathname, search } = await other.signIn(await press(visitor, "other", { for: "link" }), "v-1");
    await visitor.get("/sign-out");
    await visitor.post("/sign-out", {});
    await visitor.get("/sign-in");
    await visitor.post("/sign-in", { username: "tess", password: "seven quiet harbours" });
    assert.match((await visitor.get(pathname + search)).text, /Somebody else is signed in/);
    assert.equal(await product.app.store.models.identities.count({ where: { subject: "v-1" } }), 0);
  });

  test("an invitation is taken with a provider that admits nobody by itself", async () => {
    company.accounts.set("w-1", { name: "Wren Hale", preferred_username: "wren" });
    const path = await invitationPath(product, { groups: ["night"] });
    const visitor = visit();
    const page = await visitor.get(path);
    assert.match(page.text, /invites you as a member/);
    const invitation = path.slice("/invite/".length);
    assert.equal((await signIn(visitor, "invited", "w-1", { for: "invite", invitation })).location, "/");
    assert.equal(await whoIs(visitor), "wren@invited");
    assert.match((await visitor.get("/account")).text, /in the groups night</);
    assert.equal((await visit().get(path)).status, 410);
  });

  test("it works in the midst of an authorization of a client", async () => {
    const visitor = visit();
    const started = await visitor.get("/sign-in?returnTo=%2Foauth%2Finteraction%2Fabc");
    const returnTo = /name="returnTo" value="([^"]*)"/.exec(started.text)?.[1] ?? "";
    assert.equal((await signIn(visitor, "company", "u-1", { returnTo })).location, "/oauth/interaction/abc");
  });
});

function configuration(company: string, other: string): string {
  const client = `clientId: ${CLIENT.id}\n    clientSecret: \${env:TEST_IDP_SECRET}`;
  return `version: 1
signIn:
  - id: company
    type: oidc
    label: The company
    issuer: ${company}
    ${client}
    scopes: [openid, profile, email, groups]
    admit: { domains: [acme.example] }
    groups: { claim: groups, map: { grp-7: support } }
    claims: { department: department }
  - id: invited
    type: oidc
    issuer: ${company}
    ${client}
  - id: open
    type: oidc
    issuer: ${company}
    ${client}
    admit: everyone
  - id: other
    type: oidc
    issuer: ${other}
    ${client}
`;
}
