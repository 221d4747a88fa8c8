import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { changingUpstream, tool } from "./fixtures/changing-upstream.ts";
import { connectionFile, openRooms, type Rooms } from "./fixtures/connection-rooms.ts";

const URL_A = connectionFile("https://a.example/mcp");

/** Resolves with the environment that the registry announces next. */
async function nextChange(registry: Rooms["registry"], cause: () => Promise<unknown>): Promise<string> {
  const target = new EventTarget();
  const stop = registry.onChange(({ environmentId }) =>
    target.dispatchEvent(new CustomEvent("change", { detail: environmentId })),
  );
  const announced = once(target, "change");
  await cause();
  const [event] = await announced;
  stop();
  return event.detail;
}

test("endpoints are found by organization and slug, the default one without a slug", async (context) => {
  const { registry } = await openRooms(context, {
    "endpoints/support.yml": "version: 1\nendpoint: { label: Support }\n",
    "organizations/acme/endpoints/sales.yml": "version: 1\nendpoint: {}\n",
  });
  assert.equal(registry.endpoint(undefined, undefined)?.endpoint.isDefault, true);
  assert.equal(registry.endpoint(undefined, "support")?.endpoint.label, "Support");
  assert.equal(registry.endpoint("default", "support")?.endpoint.isDefault, false);
  assert.equal(registry.endpoint("acme", "sales")?.environment.organizationSlug, "acme");
  for (const [organization, endpoint] of [
    [undefined, "sales"],
    ["acme", "support"],
    ["nobody", undefined],
  ] as const) {
    assert.equal(registry.endpoint(organization, endpoint), undefined);
  }
});

test("a child environment sees its ancestors' connections nearest first, and every ancestor's denials", async (context) => {
  const { registry } = await openRooms(context, {
    "connections/shared.yml": `${URL_A}  label: of main\n`,
    "connections/base.yml": URL_A,
    "environments/main/environment.yml": "version: 1\nenvironment: { tools: { forbid: ['*__drop_*'] } }\n",
    "environments/child/environment.yml":
      "version: 1\nenvironment: { parent: main, tools: { forbid: ['*__wipe_*'] } }\n",
    "environments/child/connections/shared.yml": `${URL_A}  label: of child\n`,
    "environments/child/endpoints/child.yml": "version: 1\nendpoint: {}\n",
  });
  const child = registry.endpoint(undefined, "child")?.environment;
  assert.deepEqual(
    child?.connections.map(({ slug, label }) => [slug, label]),
    [
      ["base", "base"],
      ["shared", "of child"],
    ],
  );
  assert.deepEqual(child?.forbid, ["*__wipe_*", "*__drop_*"]);
  const main = registry.endpoint(undefined, undefined)?.environment;
  assert.equal(main?.connections.find(({ slug }) => slug === "shared")?.label, "of main");
});

test("a publication is announced, and only what changed is made anew", async (context) => {
  const { registry, dir, publish, connection } = await openRooms(context, {
    "connections/a.yml": URL_A,
    "connections/b.yml": URL_A,
  });
  const before = { a: connection("a"), b: connection("b"), environment: registry.environments()[0] };
  dir.write({ "connections/a.yml": `${URL_A}  label: Changed\n` });
  const changed = await nextChange(registry, publish);
  assert.equal(changed, before.environment?.id);
  assert.notEqual(registry.environment(changed)?.revision, before.environment?.revision);
  assert.equal(connection("a").label, "Changed");
  assert.equal(connection("b"), before.b);
});

test("a parent's change reaches its children", async (context) => {
  const { registry, dir, publish } = await openRooms(context, {
    "connections/a.yml": URL_A,
    "environments/child/environment.yml": "version: 1\nenvironment: { parent: main }\n",
    "environments/child/endpoints/child.yml": "version: 1\nendpoint: {}\n",
  });
  const before = registry.endpoint(undefined, "child")?.environment.revision;
  dir.write({ "connections/b.yml": URL_A });
  await publish();
  await registry.reload();
  const child = registry.endpoint(undefined, "child")?.environment;
  assert.deepEqual(
    child?.connections.map(({ slug }) => slug),
    ["a", "b"],
  );
  assert.notEqual(child?.revision, before);
});

test("tools are served with class, approval and public name, as far as access goes", async (context) => {
  const upstream = await changingUpstream(context, [
    tool("get_user"),
    tool("createUser"),
    tool("deleteUser"),
    tool("unclassified"),
    tool("get_secret"),
  ]);
  upstream.prompts = [{ name: "greet" }, { name: "hidden" }];
  upstream.resources = [
    { uri: "doc://a/b", name: "b" },
    { uri: "secret://a", name: "a" },
  ];
  upstream.templates = [{ uriTemplate: "doc://{id}", name: "any" }];
  const { connection, refresh } = await openRooms(context, {
    "connections/a.yml": connectionFile(
      upstream.url,
      "access:",
      "  read: { tools: ['get_*'] }",
      "  write: { tools: ['*User'], approval: always }",
      "  approval: { createUser: never }",
      "  disable: [get_secret]",
      "  prompts: [greet]",
      "  resources: ['doc://**']",
    ),
  });
  assert.equal(connection("a").state, "loading");
  const result = await refresh("a");
  assert.equal(result.ok, true);
  const served = connection("a");
  assert.equal(served.state, "ok");
  assert.deepEqual(
    served.tools.map(({ name, action, class: toolClass, approval, state }) => [
      name,
      action,
      toolClass,
      approval,
      state,
    ]),
    [
      ["a__get_user", "get_user", "read", "none", "approved"],
      ["a__create_user", "createUser", "write", "none", "approved"],
      ["a__delete_user", "deleteUser", "write", "required", "approved"],
    ],
  );
  assert.deepEqual([...served.promptNames], [["a__greet", "greet"]]);
  assert.deepEqual(
    served.resources.map(({ uri }) => uri),
    ["doc://a/b"],
  );
  assert.deepEqual(
    served.templates.map(({ uriTemplate }) => uriTemplate),
    ["doc://{id}"],
  );
  assert.equal(served.admits.resource("secret://a"), false);
  assert.equal(served.introduction?.serverInfo?.["name"], "changing");
});

test("a connection that lacks its credential says so", async (context) => {
  const { connection } = await openRooms(context, {
    "connections/signin.yml": `${URL_A}  auth: { method: oauth }\n`,
  });
  assert.equal(connection("signin").state, "needsAuthorization");
});
