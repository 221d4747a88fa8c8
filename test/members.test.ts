import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createInvitations } from "../server/people/invitations.ts";
import { createMembers } from "../server/people/members.ts";
import { createOneTimeLinks } from "../server/people/one-time-links.ts";
import { createOrganization } from "../server/people/organizations.ts";
import { createPasswords } from "../server/people/password.ts";
import { personActor } from "../server/people/people.ts";
import { OPERATOR } from "../server/people/permissions.ts";
import { signInClient } from "./fixtures/oauth-client.ts";
import { ADMIN, createVisitor, signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import {
  eventsOf,
  invitedPerson,
  lastSignIn,
  organizationId,
  PASSWORD,
  personId,
  whoIs,
} from "./fixtures/people-room.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";

describe("the members of an organization", () => {
  let product: Product;
  let admin: Visitor;
  let organization: string;
  before(async () => {
    product = await startProduct({
      endpoints: {
        everyone: { principals: { roles: ["member"] } },
        night: { principals: { groups: ["night"] } },
        erin: { principals: { people: ["erin"] } },
        bots: { principals: { agents: ["night-agent"] } },
      },
    });
    admin = await signedInAdmin(product);
    organization = await organizationId(product);
  });
  after(() => product?.[Symbol.asyncDispose]());

  const visit = () => createVisitor(new URL(product.url).origin);
  const statusOf = async (endpoint: string, token: string) =>
    (await postModern(product.endpoint(endpoint), token, "tools/list")).status;
  const change = async (visitor: Visitor, username: string, fields: Record<string, string>) => {
    const path = `/members/${await personId(product, username)}`;
    await visitor.get("/account");
    return visitor.post(path, fields);
  };
  const lastChange = async () => {
    const event = (await eventsOf(product, "people")).at(-1);
    return [event?.decision, event?.rule, event?.principalName];
  };

  test("are seen by admins alone, with roles, groups and what they sign in with", async () => {
    const erin = await invitedPerson(product, "erin", { groups: ["day"] });
    const { text } = await admin.get("/members");
    assert.match(text, /The erin[\s\S]*Member[\s\S]*day[\s\S]*Password/);
    assert.equal((await erin.get("/members")).status, 404);
    assert.equal((await change(erin, "erin", { change: "role", role: "admin" })).status, 404);
    assert.equal((await visit().get("/members")).location, "/sign-in?returnTo=%2Fmembers");
  });

  test("whoever lacks the permission changes nothing, whichever way they come, and the audit says so", async () => {
    const erin = personActor({ id: await personId(product, "erin"), name: "The erin" }, () => "member");
    const { members, invitations } = desk();
    const self = await personId(product, "erin");
    await assert.rejects(members.changeRole(erin, organization, self, "admin"), { code: "permission_missing" });
    await assert.rejects(members.remove(erin, organization, self), { code: "permission_missing" });
    await assert.rejects(invitations.invite(erin, { organizationId: organization, role: "admin" }), {
      code: "permission_missing",
    });
    assert.deepEqual(await lastChange(), ["refuse", "invitation_made", "The erin"]);
  });

  test("an invitation of the page makes a member, once", async () => {
    const page = await admin.get("/members");
    assert.equal(page.status, 200);
    const made = await admin.post("/members", { name: "Fay Lund", role: "member", groups: "day, late" });
    const link = /<code>(http[^<]+\/invite\/[\w-]{43})<\/code>/.exec(made.text)?.[1] ?? "";
    const fay = visit();
    const { pathname } = new URL(link);
    const form = await fay.get(pathname);
    assert.match(form.text, /value="Fay Lund"/);
    assert.match(form.text, /Dana Reyes invites you as a member/);
    const fields = { how: "create", name: "Fay Lund", username: "fay", password: PASSWORD };
    assert.equal((await fay.post(pathname, { ...fields, password: "short" })).status, 422);
    assert.equal((await fay.post(pathname, { ...fields, username: "erin" })).status, 422, "the name is taken");
    assert.equal((await fay.post(pathname, fields)).location, "/");
    assert.equal(await whoIs(fay), "fay");
    assert.equal((await visit().get(pathname)).status, 410);
    const again = visit();
    await again.get("/sign-in");
    assert.equal((await again.post(pathname, fields)).status, 410);
    assert.match((await fay.get("/account")).text, /in the groups day, late</);
  });

  test("an invitation that was taken back is worth nothing", async () => {
    const { invitations } = desk();
    const { secret, id } = await invitations.invite(OPERATOR, { organizationId: organization, role: "admin" });
    assert.match((await admin.get("/members")).text, new RegExp(id));
    assert.equal((await admin.post("/members/invitations/end", { invitation: id })).status, 303);
    assert.equal((await visit().get(`/invite/${secret}`)).status, 410);
  });

  test("somebody who is a member elsewhere joins with who they are; their other organization cannot become them", async () => {
    const { id } = await createOrganization(product.app.store, { slug: "acme", name: "Acme" });
    const { invitations } = desk();
    const { secret } = await invitations.invite(OPERATOR, { organizationId: id, role: "admin" });
    const gil = await invitedPerson(product, "gil");
    await gil.get(`/invite/${secret}`);
    assert.equal((await gil.post(`/invite/${secret}`, { how: "join" })).location, "/");
    assert.equal((await gil.get("/o/acme/members")).status, 200);
    assert.equal((await gil.get("/members")).status, 404);
    assert.equal((await admin.get("/o/acme/members")).status, 404);
    const refused = await change(admin, "gil", { change: "reset" });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /belongs to other organizations/);
  });

  test("groups by hand decide which endpoints a client of theirs may use, within a second", async () => {
    const erin = await invitedPerson(product, "hana");
    const { tokens } = await signInClient(product, await grouped(erin, "hana", "night"), {
      resource: product.endpoint("night"),
    });
    assert.equal(await statusOf("night", tokens.access_token), 200);
    await change(admin, "hana", { change: "groups", groups: "day" });
    assert.equal(await statusOf("night", tokens.access_token), 404);
    await change(admin, "hana", { change: "groups", groups: "day, night" });
    assert.equal(await statusOf("night", tokens.access_token), 200);
    assert.deepEqual(await lastChange(), ["allow", "member_groups_changed", "Dana Reyes"]);
  });

  test("open streams of somebody whose groups change are ended, so that their client comes back with what it may", async () => {
    const { tokens } = await signInClient(product, await signedIn("hana"), { resource: product.endpoint("night") });
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { notifications: { toolsListChanged: true }, _meta };
    const response = await fetch(product.endpoint("night"), {
      method: "POST",
      headers: {
        authorization: `Bearer ${tokens.access_token}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params }),
    });
    assert.equal(response.status, 200);
    const reader = response.body?.getReader();
    assert.ok(reader);
    await reader.read();
    await change(admin, "hana", { change: "groups", groups: "day" });
    const ended = reader.read().then(
      ({ done }) => done,
      () => true,
    );
    assert.equal(await ended, true);
  });

  test("an endpoint may name people and agents; to anybody else it does not exist", async () => {
    const erin = await signedIn("erin");
    const { tokens } = await signInClient(product, erin, { resource: product.endpoint("erin") });
    assert.equal(await statusOf("erin", tokens.access_token), 200);
    const hana = await signedIn("hana");
    await assert.rejects(
      signInClient(product, hana, { resource: product.endpoint("erin") }),
      /no such endpoint for you/,
    );
    assert.equal(await statusOf("bots", await product.token({ endpoint: "bots", name: "night-agent" })), 200);
    assert.equal(await statusOf("bots", await product.token({ endpoint: "bots", name: "day-agent" })), 404);
  });

  test("the last admin stays one, and stays", async () => {
    const demoted = await change(admin, ADMIN.username, { change: "role", role: "member" });
    assert.equal(demoted.status, 409);
    assert.match(demoted.text, /keeps at least one admin/);
    assert.equal((await change(admin, ADMIN.username, { change: "remove" })).status, 409);
    assert.deepEqual(await lastChange(), ["refuse", "member_removed", "Dana Reyes"]);
    assert.equal(await whoIs(admin), ADMIN.username);
  });

  test("two admins who demote one another at once leave one", async () => {
    await invitedPerson(product, "ivo", { role: "admin" });
    const { members } = desk();
    const ids = [await personId(product, "ivo"), await personId(product, ADMIN.username)];
    const outcomes = await Promise.allSettled(
      ids.map((id) => members.changeRole(OPERATOR, organization, id, "member")),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    const admins = (await members.list(organization)).filter(({ role }) => role === "admin");
    assert.equal(admins.length, 1);
    for (const id of ids) await members.changeRole(OPERATOR, organization, id, "admin");
  });

  test("a removed member loses sessions, clients and own tokens in the middle of what they do", async () => {
    const joe = await invitedPerson(product, "joe");
    const id = await personId(product, "joe");
    const { tokens, refresh } = await signInClient(product, joe, { resource: product.endpoint("everyone") });
    const client = new Client({ name: "in the middle", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(product.endpoint("everyone")), {
      requestInit: { headers: { authorization: `Bearer ${tokens.access_token}` } },
    });
    await client.connect(transport);
    assert.ok((await client.listTools()).tools.length > 0);
    const own = await product.token({ endpoint: "everyone", name: "joe's laptop" });
    await product.app.store.models.agents.update({ personId: id }, { where: { name: "joe's laptop" } });
    const removed = await change(admin, "joe", { change: "remove" });
    assert.equal(removed.location, "/members");
    await assert.rejects(client.listTools());
    assert.equal(await statusOf("everyone", tokens.access_token), 401);
    assert.equal((await refresh()).body.error, "invalid_grant");
    assert.equal(await product.app.tokens.verify(own, {}), undefined);
    assert.equal(await whoIs(joe), undefined);
    assert.deepEqual(await lastSignIn(product), { decision: "refuse", rule: "ended_session", reason: null });
    const later = visit();
    await later.get("/sign-in");
    assert.equal((await later.post("/sign-in", { username: "joe", password: PASSWORD })).status, 422);
    assert.deepEqual(await lastSignIn(product), { decision: "refuse", rule: "password", reason: null });
    const noted = (await eventsOf(product, "people")).find(
      ({ rule, decision }) => rule === "member_removed" && decision === "allow",
    );
    assert.equal(noted?.reason, "joe; ended: 1 sessions, 1 grants, 1 tokens, 0 accounts");
    await client.close().catch(() => undefined);
  });

  test("a removed member comes back with an invitation of the operator, and nothing of before", async () => {
    const { invitations } = desk();
    const invitation = {
      organizationId: organization,
      role: "member",
      personId: await personId(product, "joe"),
    } as const;
    const { secret } = await invitations.invite(OPERATOR, invitation);
    const joe = visit();
    assert.match((await joe.get(`/invite/${secret}`)).text, /Save the password and come back/);
    const taken = await joe.post(`/invite/${secret}`, { how: "create", password: "nine distant orchards" });
    assert.equal(taken.location, "/");
    assert.equal(await whoIs(joe), "joe");
    assert.equal((await product.app.oauth.grants.list(organization, invitation.personId)).length, 0);
  });

  test("a stolen cookie of a session that was ended is refused, and stands in the audit once", async () => {
    const kim = await invitedPerson(product, "kim");
    const thief = visit();
    for (const [name, value] of kim.cookies) thief.cookies.set(name, value);
    assert.equal(await whoIs(thief), "kim");
    await kim.get("/account");
    assert.match((await kim.post("/account/sessions", { session: "all" })).text, /signed out everywhere/);
    assert.equal(await whoIs(thief), undefined);
    assert.equal(await whoIs(thief), undefined);
    const noted = (await eventsOf(product, "sign_in")).filter((event) => event.principalName === "The kim");
    assert.deepEqual(noted.at(-1)?.rule, "ended_session");
    assert.equal(noted.filter(({ rule }) => rule === "ended_session").length, 1);
  });

  test("a person ends one browser of several, changes the password, and the others are signed out", async () => {
    const [desktop, phone] = [await signedIn("kim"), await signedIn("kim")];
    const page = await desktop.get("/account");
    const ids = [...page.text.matchAll(/name="session" value="(\w{26})"/g)].map(([, id = ""]) => id);
    assert.equal(ids.length, 2);
    assert.equal((await desktop.post("/account/sessions", { session: await sessionOf(phone, "kim") })).status, 303);
    assert.equal(await whoIs(phone), undefined);
    assert.equal(await whoIs(desktop), "kim");
    const other = await signedIn("kim");
    await desktop.get("/account/password");
    const wrong = await desktop.post("/account/password", {
      current: "something else",
      password: "nine distant orchards",
    });
    assert.match(wrong.text, /This is not your password/);
    const changed = await desktop.post("/account/password", { current: PASSWORD, password: "nine distant orchards" });
    assert.match(changed.text, /The password is changed/);
    assert.equal(await whoIs(other), undefined);
    assert.equal(await whoIs(desktop), "kim");
    await signedIn("kim", "nine distant orchards");
  });

  test("nobody ends a session of somebody else with its id", async () => {
    const kim = await signedIn("kim", "nine distant orchards");
    const erin = await signedIn("erin");
    await erin.get("/account");
    await erin.post("/account/sessions", { session: await sessionOf(kim, "kim") });
    assert.equal(await whoIs(kim), "kim");
  });

  test("an admin hands out a link for a new password", async () => {
    const made = await change(admin, "erin", { change: "reset" });
    const link = /<code>(http[^<]+\/setup\/[\w-]{43})<\/code>/.exec(made.text)?.[1] ?? "";
    const erin = visit();
    const { pathname } = new URL(link);
    assert.match((await erin.get(pathname)).text, /for erin/);
    assert.equal((await erin.post(pathname, { password: "nine distant orchards" })).status, 303);
    assert.equal(await whoIs(erin), "erin");
  });

  /** What pages, commands and the API call, without any of them. */
  function desk() {
    const { app } = product;
    const none = async () => 0;
    const changed = (id: string) => app.oauth.personChanged(id);
    const shared = { store: app.store, audit: app.audit, clock: Date.now };
    const other = { endGrants: none, endTokens: none, endAccounts: none, changed };
    const links = createOneTimeLinks(shared);
    return {
      members: createMembers({ ...shared, sessions: { endAll: none }, other }),
      invitations: createInvitations({ ...shared, links, passwords: createPasswords(), changed }),
    };
  }

  async function signedIn(username: string, password = PASSWORD): Promise<Visitor> {
    const visitor = visit();
    await visitor.get("/sign-in");
    assert.equal((await visitor.post("/sign-in", { username, password })).status, 303);
    return visitor;
  }

  async function grouped(visitor: Visitor, username: string, groups: string): Promise<Visitor> {
    await change(admin, username, { change: "groups", groups });
    return visitor;
  }

  /** Id of the session at a browser. */
  async function sessionOf(visitor: Visitor, username: string): Promise<string> {
    const { text } = await visitor.get("/account");
    const own = /This browser\.[\s\S]*?name="session" value="(\w{26})"/.exec(text)?.[1];
    assert.ok(own, `no session of ${username}`);
    return own;
  }
});
