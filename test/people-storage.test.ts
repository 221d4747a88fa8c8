import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { createAudit } from "../server/observe/audit.ts";
import { setGroups } from "../server/people/groups.ts";
import { createIdentities } from "../server/people/identities.ts";
import { createInvitations } from "../server/people/invitations.ts";
import { createMembers } from "../server/people/members.ts";
import { createOneTimeLinks } from "../server/people/one-time-links.ts";
import { createOrganization } from "../server/people/organizations.ts";
import { createPasswords } from "../server/people/password.ts";
import { OPERATOR } from "../server/people/permissions.ts";
import type { ExternalIdentity } from "../server/people/providers/identity.ts";
import type { SignInProvider } from "../server/people/providers/provider.ts";
import { openKeyring } from "../server/vault/keyring.ts";
import { databases, storeFor, type TestDatabase } from "./fixtures/databases.ts";
import { silentLog } from "./fixtures/silent-log.ts";

const IDENTITY: ExternalIdentity = {
  ...{ issuer: "https://idp.example", subject: "s-1", label: "vera", name: "Véra", login: "vera", email: undefined },
  ...{ domains: [], groups: ["Nacht 🌙", "ops"], claims: { department: "Harbour" } },
};

const PROVIDER: SignInProvider = {
  file: {
    ...{ type: "oidc", id: "company", issuer: "https://idp.example", clientId: "x", scopes: [], trustEmail: false },
    ...{ admit: "invited", role: "member", organization: "acme", claims: { department: "department" } },
  },
  label: "The company",
  begin: () => Promise.reject(new Error("not asked")),
  finish: () => Promise.reject(new Error("not asked")),
};

async function room(t: TestContext, database: TestDatabase) {
  const store = await storeFor(t, database);
  const keyring = await openKeyring({
    config: { masterKey: undefined, masterKeyFile: undefined },
    dataDir: store.dataDir,
  });
  const clock = Date.now;
  const audit = createAudit({ store, keyring, log: silentLog, clock });
  t.after(() => audit.close());
  const links = createOneTimeLinks({ store, clock });
  const none = async () => 0;
  const changed = async () => undefined;
  const other = { endGrants: none, endTokens: none, endAccounts: none, changed };
  const { id } = await createOrganization(store, { slug: "acme", name: "Acme" });
  const invitations = createInvitations({ store, audit, links, passwords: createPasswords(), changed, clock });
  const join = async (username: string, groups: readonly string[] = [], role: "admin" | "member" = "member") => {
    const { secret } = await invitations.invite(OPERATOR, { organizationId: id, role, groups });
    const link = await links.find(secret);
    assert.ok(link);
    return {
      link,
      person: await invitations.acceptAsNew(link, { username, name: "N", password: "seven quiet harbours" }),
    };
  };
  const members = createMembers({ store, audit, sessions: { endAll: none }, other, clock });
  return { store, id, invitations, members, identities: createIdentities({ store, clock }), join };
}

for (const database of databases) {
  describe(`people in ${database.name}`, { skip: database.skip }, () => {
    test("an invitation is taken once, however many come at once", async (t) => {
      const { store, id, invitations, members } = await room(t, database);
      const { secret } = await invitations.invite(OPERATOR, {
        organizationId: id,
        role: "member",
        groups: ["b", "a", "b"],
      });
      const link = await createOneTimeLinks({ store, clock: Date.now }).find(secret);
      assert.ok(link);
      const taken = await Promise.allSettled(
        ["one", "two", "three"].map((username) =>
          invitations.acceptAsNew(link, { username, name: "N", password: "seven quiet harbours" }),
        ),
      );
      assert.equal(taken.filter(({ status }) => status === "fulfilled").length, 1);
      const [member, ...others] = await members.list(id);
      assert.equal(others.length, 0);
      assert.deepEqual(
        member?.groups.map(({ name }) => name),
        ["a", "b"],
      );
    });

    test("groups by hand and those of a sign-in do not touch one another", async (t) => {
      const { store, id, members, identities, join } = await room(t, database);
      const { person } = await join("vera", ["ops"]);
      const link = () =>
        store.transaction((transaction) => identities.link(person.id, PROVIDER, IDENTITY, transaction));
      const row = await link();
      await assert.rejects(link(), { code: "identity_taken" });
      assert.deepEqual((await members.get(id, person.id)).groups, [
        { name: "Nacht 🌙", source: "company" },
        { name: "ops", source: "" },
        { name: "ops", source: "company" },
      ]);
      assert.equal(await identities.refresh(row, PROVIDER, IDENTITY), false, "nothing changed");
      assert.equal(await identities.refresh(row, PROVIDER, { ...IDENTITY, groups: [] }), true);
      await members.setGroups(OPERATOR, id, person.id, ["Ops", "ops"]);
      assert.deepEqual((await members.get(id, person.id)).groups, [
        { name: "Ops", source: "" },
        { name: "ops", source: "" },
      ]);
      const same = { organizationId: id, personId: person.id, source: "", names: ["Ops", "ops"] };
      assert.equal(await store.transaction((transaction) => setGroups(store, same, transaction)), false);
      assert.equal(await identities.refresh({ ...row, claims: {} }, PROVIDER, { ...IDENTITY, groups: [] }), true);
      assert.deepEqual((await identities.find(IDENTITY))?.claims, { department: "Harbour" });
    });

    test("of two admins who are removed at once one stays", async (t) => {
      const { id, members, join } = await room(t, database);
      const people = [await join("ann", [], "admin"), await join("ben", [], "admin")];
      const removed = await Promise.allSettled(people.map(({ person }) => members.remove(OPERATOR, id, person.id)));
      assert.equal(removed.filter(({ status }) => status === "fulfilled").length, 1);
      assert.equal((await members.list(id)).length, 1);
    });
  });
}
