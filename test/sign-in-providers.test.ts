import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadConfigDir } from "../server/connections/files.ts";
import type { ProviderFileOf, SignInProviderFile } from "../server/connections/sign-in-schema.ts";
import { problemText } from "../server/connections/yaml-file.ts";
import { admissionProblem } from "../server/people/external-sign-in.ts";
import { claimVariables } from "../server/people/providers/identity.ts";
import { identityOf } from "../server/people/providers/openid.ts";

function load(t: TestContext, signIn: string, files: Record<string, string> = {}, env: Record<string, string> = {}) {
  const dir = mkdtempSync(join(tmpdir(), "providers-"));
  t.after(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, "jackfield.yml"), `version: 1\nsignIn:\n${signIn}`);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const { jackfield, errors, missing } = loadConfigDir(dir, env);
  return { providers: jackfield.signIn, errors: errors.map(problemText), missing: missing.map(problemText) };
}

const CLIENT = `clientId: x, clientSecret: "\${env:SECRET}"`;

test("providers are read with their defaults, and say which variable is missing", (t) => {
  const { providers, errors, missing } = load(
    t,
    `  - { id: google, type: google, clientId: "\${env:GOOGLE_ID}", clientSecret: "\${env:SECRET}" }\n` +
      `  - { id: company, type: oidc, issuer: "https://idp.example", ${CLIENT}, admit: { domains: [acme.example] } }\n`,
    {},
    { SECRET: "s" },
  );
  assert.deepEqual(errors, []);
  assert.deepEqual(
    providers.map(({ id, admit, role, claims }) => ({ id, admit, role, claims })),
    [
      { id: "google", admit: "invited", role: "member", claims: {} },
      { id: "company", admit: { domains: ["acme.example"] }, role: "member", claims: {} },
    ],
  );
  assert.deepEqual(missing, ["jackfield.yml:3: signIn.0.clientId: Missing GOOGLE_ID"]);
});

test("certificates come from files of the configuration, and from nowhere else", (t) => {
  const saml = (certificate: string) =>
    `  - { id: sso, type: saml, issuer: a, entryPoint: "https://idp.example/sso", certificate: ${certificate} }\n`;
  const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const [provider] = load(t, saml("./idp.pem"), { "idp.pem": pem }).providers;
  assert.deepEqual(provider?.type === "saml" && provider.certificate, [pem]);
  for (const path of ["./absent.pem", "../../etc/hosts", "/etc/hosts"]) {
    assert.match(load(t, saml(path)).errors.join(), /signIn\.0\.certificate: .* is no file of the configuration/);
  }
});

for (const [what, line, error] of [
  ["a secret in the file", `{ id: a, type: google, clientId: x, clientSecret: verysecret }`, /clientSecret/],
  ["two of one id", `{ id: a, type: google, ${CLIENT} }\n  - { id: a, type: google, ${CLIENT} }`, /declared twice/],
  ["an id that is a path", `{ id: "a/b", type: google, ${CLIENT} }`, /signIn\.0\.id/],
  ["the word for passwords as an id", `{ id: password, type: google, ${CLIENT} }`, /without a provider/],
  ["a domain with an at sign", `{ id: a, type: google, ${CLIENT}, admit: { domains: ["@acme.example"] } }`, /domain/],
  ["a variable that is ours", `{ id: a, type: google, ${CLIENT}, claims: { email: mail } }`, /is set by itself/],
  ["groups that GitHub does not have", `{ id: a, type: github, ${CLIENT}, groups: { claim: x } }`, /teams or org/],
  ["an issuer with a query", `{ id: a, type: oidc, ${CLIENT}, issuer: "https://a.example?x" }`, /issuer/],
  ["a key that does not exist", `{ id: a, type: google, ${CLIENT}, emails: verified }`, /emails/],
] as const) {
  test(`${what} is refused, with its place`, (t) => {
    assert.match(load(t, `  - ${line}\n`).errors.join("; "), error);
  });
}

/** A provider, as far as admission asks. */
function providerOf(file: SignInProviderFile) {
  const never = () => Promise.reject(new Error("not asked"));
  return { file, label: "", begin: never, finish: never };
}

test("at Google the domain's own word counts, not the address that somebody once received mail at", () => {
  const file: ProviderFileOf<"google"> = {
    ...{ type: "google", id: "google", clientId: "x", clientSecret: "S", claims: {}, role: "member" },
    admit: { domains: ["acme.example"] },
  };
  const claims = { iss: "https://accounts.google.com", sub: "1", email: "boss@acme.example", email_verified: true };
  const problem = (more: object) => admissionProblem(providerOf(file), identityOf(file, { ...claims, ...more }));
  assert.match(problem({}) ?? "", /none of the admitted domains/);
  assert.equal(problem({ hd: "ACME.example" }), undefined);
  assert.match(problem({ hd: "other.example" }) ?? "", /none of the admitted domains: other\.example/);
  assert.match(problem({ hd: "acme.example", email_verified: false }) ?? "", /without a verified mail address/);
});

test("an address counts as verified only where the provider, or the operator, says so", () => {
  const file: ProviderFileOf<"oidc"> = {
    ...{ type: "oidc", id: "a", issuer: "https://a.example", clientId: "x", scopes: [], claims: {}, role: "member" },
    ...{ admit: "everyone", trustEmail: false },
  };
  const claims = { iss: "https://a.example", sub: "1", email: "a@acme.example" };
  assert.equal(identityOf(file, claims).email, undefined);
  assert.equal(identityOf(file, { ...claims, email_verified: "true" }).email, undefined);
  assert.equal(identityOf(file, { ...claims, email_verified: true }).email, "a@acme.example");
  assert.equal(identityOf({ ...file, trustEmail: true }, claims).email, "a@acme.example");
});

test("claims become variables as texts; lists, objects, and what is inherited become none", () => {
  const claims = {
    level: 3,
    active: true,
    dept: "Quay",
    list: ["a"],
    deep: { a: 1 },
    long: "x".repeat(1001),
    none: "",
  };
  const wanted = Object.fromEntries([...Object.keys(claims), "toString", "absent"].map((name) => [name, name]));
  assert.deepEqual(claimVariables({ claims, email: undefined }, wanted), { level: "3", active: "true", dept: "Quay" });
  assert.deepEqual(claimVariables({ claims: {}, email: "a@b.example" }, {}), { email: "a@b.example" });
});
