import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { loadConfigDir } from "../server/connections/files.ts";
import { vaultChoiceOf } from "../server/connections/vault-choice.ts";
import { problemText } from "../server/connections/yaml-file.ts";
import { configDir } from "./fixtures/config-dir.ts";

const STDIO = "version: 1\nstdio: allow\n";

/** A connection file with these lines under `connection:`. */
test("an agent's keys are read, and one whose tasks nobody could follow is noted", (context) => {
  const { connections, errors, notes } = load(context, {
    "connections/agent.yml": connection(
      "type: a2a",
      "card: https://agent.example/",
      "url: https://inside.example/a2a",
      "transport: rest",
      "wait: 20",
      "push: off",
      "assertion: on",
      "access: { write: { tools: [talk] } }",
    ),
    "connections/complete.yml": connection(
      "type: a2a",
      "card: https://agent.example/",
      "access: { read: { tools: [task_*] }, write: { tools: [talk, task_cancel] } }",
    ),
    "connections/wrong.yml": connection("type: a2a", "card: https://agent.example/", "wait: 0"),
  });
  const keys = { card: "https://agent.example/", url: "https://inside.example/a2a", transport: "rest", wait: 20 };
  assert.deepEqual(connections.find(({ slug }) => slug === "agent")?.config.adapter, {
    ...keys,
    push: "off",
    assertion: "on",
  });
  const told = notes.filter((note) => note.includes("task_result"));
  assert.equal(told.length, 1);
  assert.match(String(told), /agent\.yml:10: connection\.access: does not name task_result/);
  assert.match(errors.join(), /wrong\.yml:5: connection\.wait/);
});

function connection(...lines: string[]): string {
  return ["version: 1", "connection:", ...lines.map((line) => `  ${line}`), ""].join("\n");
}

function load(context: TestContext, files: Record<string, string>, env: Record<string, string> = {}) {
  const loaded = loadConfigDir(configDir(context, files).path, env);
  const [organization] = loaded.organizations;
  const environment = organization?.environments[0];
  return {
    loaded,
    connections: environment?.connections ?? [],
    endpoints: environment?.endpoints ?? [],
    errors: loaded.errors.map(problemText),
    missing: loaded.missing.map(problemText),
    notes: loaded.notes.map(problemText),
  };
}

test("a connection with every key is read", (context) => {
  const { connections, errors, missing, notes } = load(context, {
    "connections/tracker.yml": `version: 1
connection:
  type: mcp
  label: Tracker
  description: Issues and projects of the product teams.
  aliases: [jira, tickets]
  url: https://mcp.tracker.example/mcp?project=web
  headers: { X-Toolsets: "repos,issues", X-User: "\${{principal.email}}" }
  auth: { method: oauth, scopes: [issues:read, issues:write] }
  credential: tracker
  subject: user
  required: false
  asks: elicitation
  review: patterns
  access:
    read:  { tools: ["get_*", "list_*", "search_*"] }
    write: { tools: ["create_*", "update_*"], approval: always }
    approval: { create_comment: never }
    resources: ["*"]
    prompts: []
    disable: [delete_project]
`,
  });
  assert.deepEqual(errors, []);
  assert.deepEqual(missing, []);
  assert.deepEqual(connections, [
    {
      slug: "tracker",
      source: join("connections", "tracker.yml"),
      config: {
        type: "mcp",
        label: "Tracker",
        description: "Issues and projects of the product teams.",
        aliases: ["jira", "tickets"],
        subject: "user",
        required: false,
        asks: "elicitation",
        review: "patterns",
        credential: "tracker",
        auth: { method: "oauth", scopes: ["issues:read", "issues:write"] },
        access: {
          read: ["get_*", "list_*", "search_*"],
          write: ["create_*", "update_*"],
          approval: { write: "always", tools: { create_comment: "never" } },
          resources: ["*"],
          prompts: [],
          disable: ["delete_project"],
          suggested: false,
        },
        adapter: {
          url: "https://mcp.tracker.example/mcp?project=web",
          headers: { "X-Toolsets": "repos,issues", "X-User": `\${{principal.email}}` },
        },
      },
    },
  ]);
  for (const key of ["headers.X-User"]) {
    assert.ok(
      notes.some((note) => note.includes(`connection.${key}: `)),
      `${key} is not noted: ${notes.join("; ")}`,
    );
  }
});

test("an endpoint with every key is read", (context) => {
  const { endpoints, errors } = load(context, {
    "connections/tracker.yml": connection("type: mcp", "url: https://tracker.example/mcp"),
    "endpoints/support.yml": `version: 1
endpoint:
  label: Support agents
  principals: { roles: [member], agents: [night-agent] }
  discovery: search
  activation: on
  outputSchema: search
  assets: pass
  audience: private
  signIn: off
  pin: [tracker__search_issues]
  rateLimit: { calls: 600, per: minute }
  variables: { region: eu }
  tools:
    allow:
      - tracker__search_*
      - tool: outlook__send_mail
        connection: outlook-support
        args: { to: ["*@acme.example"], cc: { match: ["*@acme.example"], optional: true } }
        onlyArgs: true
      - { tool: files__write, paths: { path: ["reports/**"] } }
    forbid:
      - "*__delete_*"
`,
    "endpoints/direct.yml":
      "version: 1\nendpoint: { discovery: transparent, connection: tracker, activation: off, outputSchema: list, audience: shared }\n",
  });
  assert.deepEqual(errors, []);
  assert.deepEqual(endpoints[1]?.config, {
    label: "Support agents",
    principals: { roles: ["member"], groups: [], people: [], agents: ["night-agent"] },
    discovery: "search",
    activation: "on",
    outputSchema: "search",
    assets: "pass",
    audience: "private",
    signIn: "off",
    pin: ["tracker__search_issues"],
    rateLimit: { calls: 600, per: "minute" },
    variables: { region: "eu" },
    tools: {
      allow: [
        "tracker__search_*",
        {
          tool: "outlook__send_mail",
          connection: "outlook-support",
          args: { to: ["*@acme.example"], cc: { match: ["*@acme.example"], optional: true } },
          onlyArgs: true,
        },
        { tool: "files__write", paths: { path: ["reports/**"] } },
      ],
      forbid: ["*__delete_*"],
    },
  });
  assert.equal(endpoints[0]?.config.discovery, "transparent");
  assert.equal(endpoints[0]?.config.connection, "tracker");
});

test("what a piece cannot be signed in with, and a secret among its fields, are errors", (context) => {
  const { errors } = load(context, {
    "connections/a.yml": connection("type: ap", "piece: slack", "auth: { method: client_credentials }"),
    "connections/b.yml": connection(
      "type: ap",
      "piece: slack",
      "auth: { method: fields, fields: { botToken: plain } }",
    ),
    "connections/c.yml": connection(
      "type: http",
      "baseUrl: https://x.example",
      "endpoints: [{ name: p, method: GET, path: /p }]",
      "auth: { method: fields }",
    ),
    "connections/d.yml": connection("type: ap", "piece: slack", "version: latest"),
    "connections/e.yml": connection("type: ap", "piece: slack", "auth: { method: oauth }"),
  });
  const told = errors.join("\n");
  assert.match(told, /a\.yml:.*must be none, oauth, bearer, basic or fields/);
  assert.match(told, /b\.yml:.*a secret does not belong in a file/);
  assert.match(told, /c\.yml:.*fields are of pieces/);
  assert.match(told, /d\.yml:.*must be one exact version/);
  assert.match(told, /e\.yml:.*a piece is signed in to with an app/);
});

test("every type of connection and method of authentication is accepted", (context) => {
  const { connections, errors } = load(
    context,
    {
      "jackfield.yml": `${STDIO}activepieces: { minimumReleaseAge: 3d, pieces: [slack@0.17.9] }\n`,
      "connections/command.yml": connection(
        "type: mcp",
        "command: [npx, some-server]",
        "cwd: ./work",
        `env: { LOG: debug, KEY: "\${env:SOME_KEY}" }`,
        "access: suggested",
      ),
      "connections/crm.yml": connection(
        "type: openapi",
        "spec: ./crm.yaml",
        "baseUrl: https://crm.example/v1",
        "overrides: { read: [search], write: [export] }",
        `auth: { method: bearer, secret: '\${env:CRM_TOKEN}' }`,
      ),
      "connections/crm.yaml": "openapi: 3.1.0\ninfo: { title: CRM, version: 1 }\npaths: {}\n",
      "connections/keys.yml": connection(
        "type: openapi",
        "spec: https://keys.example/openapi.json",
        `auth: { method: several, schemes: { app: { method: api_key, in: cookie, name: a, secret: '\${env:A}' }, user: { method: basic, username: u } } }`,
      ),
      "connections/plain.yml": connection(
        "type: http",
        "baseUrl: https://plain.example/api",
        "endpoints: [{ name: ping, method: GET, path: /ping }]",
        `auth: { method: api_key, in: query, name: key, secret: '\${env:PLAIN_KEY}' }`,
      ),
      "connections/agent.yml": connection(
        "type: a2a",
        "card: https://agent.example/card.json",
        "auth: { method: none }",
      ),
      "connections/slack.yml": connection(
        "type: ap",
        "piece: slack",
        "version: 0.17.9",
        "expose: [send_message]",
        `auth: { method: fields, fields: { region: eu, workspace: 7, botToken: '\${env:A}' } }`,
        "access: { preset: approval-required, write: { tools: ['*'] } }",
      ),
    },
    { SOME_KEY: "1", CRM_TOKEN: "2", PLAIN_KEY: "3", A: "4" },
  );
  assert.deepEqual(errors, []);
  const bySlug = new Map(connections.map(({ slug, config }) => [slug, config]));
  assert.deepEqual(bySlug.get("crm")?.auth, { method: "bearer", secretEnv: "CRM_TOKEN" });
  assert.deepEqual(bySlug.get("plain")?.auth, { method: "api_key", in: "query", name: "key", secretEnv: "PLAIN_KEY" });
  assert.deepEqual(bySlug.get("keys")?.auth, {
    method: "several",
    schemes: {
      app: { method: "api_key", in: "cookie", name: "a", secretEnv: "A" },
      user: { method: "basic", username: "u" },
    },
  });
  assert.match(String(bySlug.get("crm")?.adapter["specFile"]), /connections.crm\.yaml$/);
  assert.equal(bySlug.get("keys")?.adapter["spec"], "https://keys.example/openapi.json");
  assert.deepEqual(bySlug.get("slack")?.auth, {
    method: "fields",
    fields: { region: "eu", workspace: "7", bot_token: `\${env:A}` },
  });
  assert.deepEqual(bySlug.get("slack")?.access.expose, ["send_message", "resolve_options"]);
  assert.equal(bySlug.get("slack")?.access.preset, "approval-required");
  assert.equal(bySlug.get("command")?.access.suggested, true);
});

test("what is wrong with an API's document or endpoints is told where it stands", (context) => {
  const endpoint = (words: string) => ["type: http", "baseUrl: https://c.example", "endpoints:", `  - ${words}`];
  const { errors } = load(context, {
    "connections/a.yml": connection("type: openapi", "spec: ./missing.yaml"),
    "connections/b.yml": connection("type: openapi", "spec: ../../outside.yaml"),
    "connections/c.yml": connection(...endpoint("{ name: a, method: GET, path: /a/../b }")),
    "connections/d.yml": connection(...endpoint("{ name: a, method: GET, path: /a, headers: { Authorization: x } }")),
  });
  assert.deepEqual(errors, [
    `${join("connections", "a.yml")}:4: connection.spec: there is no such file`,
    `${join("connections", "b.yml")}:4: connection.spec: must be an https URL, or a file inside the configuration`,
    `${join("connections", "c.yml")}:6: connection.endpoints.0.path: must not hold . or .. as a part`,
    `${join("connections", "d.yml")}:6: connection.endpoints.0.headers.Authorization: carries credentials and does not belong here; use auth`,
  ]);
});

test("the working directory of a command starts at the configuration directory", (context) => {
  const dir = configDir(context, {
    "jackfield.yml": STDIO,
    "connections/a.yml": connection("type: mcp", "command: [a]"),
    "connections/b.yml": connection("type: mcp", "command: [b]", "cwd: ./work"),
  });
  const connections = loadConfigDir(dir.path, {}).organizations[0]?.environments[0]?.connections;
  assert.equal(connections?.[0]?.config.adapter["cwd"], resolve(dir.path));
  assert.equal(connections?.[1]?.config.adapter["cwd"], resolve(dir.path, "work"));
});

test("environments and further organizations are folders of the same form", (context) => {
  const url = connection("type: mcp", "url: https://a.example/mcp");
  const { loaded, errors } = load(context, {
    "connections/shared.yml": url,
    "environments/main/environment.yml": "version: 1\nenvironment: { tools: { forbid: ['*__drop_*'] } }\n",
    "environments/staging/environment.yml": "version: 1\nenvironment: { label: Staging, parent: main }\n",
    "environments/staging/connections/own.yml": url,
    "environments/staging/endpoints/staging.yml":
      "version: 1\nendpoint: { discovery: transparent, connection: shared }\n",
    "organizations/acme/connections/tracker.yml": url,
    "organizations/acme/environments/lab/endpoints/lab.yml": "version: 1\nendpoint: {}\n",
  });
  assert.deepEqual(errors, []);
  const shape = loaded.organizations.map(({ slug, environments }) => ({
    slug,
    environments: environments.map((environment) => [
      environment.slug,
      environment.parent,
      environment.connections.map((item) => item.slug),
      environment.endpoints.map((item) => item.slug),
    ]),
  }));
  assert.deepEqual(shape, [
    {
      slug: "default",
      environments: [
        ["main", undefined, ["shared"], []],
        ["staging", "main", ["own"], ["staging"]],
      ],
    },
    {
      slug: "acme",
      environments: [
        ["main", undefined, ["tracker"], []],
        ["lab", undefined, [], ["lab"]],
      ],
    },
  ]);
  assert.deepEqual(loaded.organizations[0]?.environments[0]?.forbid, ["*__drop_*"]);
});

test("what is wrong is told with file, line and key, all at once", (context) => {
  const { errors } = load(context, {
    "jackfield.yml": STDIO,
    "connections/a.yml": connection(
      "type: mcp",
      "urll: https://a.example/mcp",
      "url: https://a.example/mcp",
      "asks: sometimes",
      "aliases: jira",
      "required: yes please",
      "access:",
      '  read: { tools: ["get_{"] }',
      "  approval: { x: perhaps }",
    ),
    "connections/b.yml": connection("type: carrier-pigeon"),
    "connections/c.yml": connection("type: mcp"),
    "connections/d.yml": "version: 2\nconnection: { type: a2a, card: https://a.example/card }\n",
    "connections/e.yml": "version: 1\nconnection:\n  type: mcp\n  url: https://a\n  url: https://b\n",
    "connections/Bad_Name.yml": connection("type: mcp", "url: https://a.example"),
    "endpoints/f.yml": "version: 1\nendpoint:\n  pin:\n    - [a, 5]\n",
    "endpoints/g.yml": "version: 1\nendpoint:\n  tools:\n    allow:\n      - tool: a\n        arg: { to: [x] }\n",
    "endpoints/h.yml": "version: 1\nendpoint:\n  discovery: transparent\n  connection: nowhere\n",
    "endpoints/i.yml": "version: 1\nendpoint:\n  discovery: transparent\n",
    "conections.yml": "version: 1\n",
    "environments/one/environment.yml": "version: 1\nenvironment: { parent: two }\n",
    "environments/two/environment.yml": "version: 1\nenvironment: { parent: one }\n",
  });
  const expected = [
    "connections/a.yml:4: connection.urll: unknown key",
    "connections/a.yml:6: connection.asks: must be one of none, elicitation, all",
    "connections/a.yml:7: connection.aliases: must be a list",
    "connections/a.yml:8: connection.required: must be true or false",
    'connections/a.yml:10: connection.access.read.tools.0: "{" at 4 is not closed',
    "connections/a.yml:11: connection.access.approval.x: must be one of always, never",
    "connections/b.yml:3: connection.type: must be one of mcp, openapi, http, a2a, ap",
    "connections/c.yml:3: connection.type: an mcp connection has either url or command",
    "connections/d.yml:1: version: must be 1",
    "connections/e.yml:5: Map keys must be unique",
    "endpoints/f.yml:4: endpoint.pin.0: must be a text (quote it)",
    "endpoints/i.yml:3: endpoint.discovery: transparent needs a connection",
    "endpoints/g.yml:6: endpoint.tools.allow.0.arg: unknown key",
    "endpoints/h.yml: endpoint.connection: there is no connection nowhere in this environment",
    "conections.yml: no file of this name is read here",
    "environments/one/environment.yml: environment.parent: leads back to one",
  ];
  for (const line of expected) assert.ok(errors.includes(line), `missing: ${line}\n${errors.join("\n")}`);
  assert.ok(errors.some((line) => line.startsWith("connections/Bad_Name.yml: the name must start with a letter")));
});

test("a secret is never taken from a file", (context) => {
  const places: [string, string[]][] = [
    ["headers.Authorization", ["url: https://a.example", "headers: { Authorization: Bearer abc }"]],
    ["headers.X-Api-Key", ["url: https://a.example", "headers: { X-Api-Key: abc }"]],
    ["headers.X-Any", ["url: https://a.example", `headers: { X-Any: ghp_${"abc".repeat(12)} }`]],
    ["headers.X-Env", ["url: https://a.example", `headers: { X-Env: '\${env:TOKEN}' }`]],
    ["url", ["url: https://user:pass@a.example/mcp"]],
    ["url", ["url: https://a.example/mcp?api_key=abc"]],
    ["auth.secret", ["url: https://a.example", "auth: { method: bearer, secret: abc }"]],
    ["env.GITHUB_TOKEN", ["command: [a]", "env: { GITHUB_TOKEN: abc }"]],
    ["command.1", ["command: [a, --api-key=abc]"]],
    ["description", ["url: https://a.example", `description: use sk-${"abc".repeat(12)}`]],
  ];
  for (const [key, lines] of places) {
    const { errors, connections } = load(context, {
      "jackfield.yml": STDIO,
      "connections/a.yml": connection("type: mcp", ...lines),
    });
    assert.equal(errors.length, 1, `${key}: ${errors.join("\n")}`);
    assert.match(
      errors[0] ?? "",
      new RegExp(`^connections/a\\.yml:\\d+: connection\\.${key.replaceAll(".", "\\.")}: `),
    );
    assert.doesNotMatch(errors[0] ?? "", /abc/);
    assert.equal(connections.length, 0);
  }
});

test("headers that carry credentials, that we set ourselves, doubled ones and other than ASCII are refused", (context) => {
  const wrong: [string, string, RegExp][] = [
    ["headers.Authorization", "headers: { Authorization: x }", /carries credentials/],
    ["headers.proxy-authorization", "headers: { proxy-authorization: x }", /carries credentials/],
    ["headers.COOKIE", "headers: { COOKIE: a=b }", /carries credentials/],
    ["headers.Host", "headers: { Host: a.example }", /is set by the proxy itself/],
    ["headers.User-Agent", "headers: { User-Agent: me }", /is set by the proxy itself/],
    ["headers.Mcp-Session-Id", "headers: { Mcp-Session-Id: x }", /is set by the proxy itself/],
    ["headers.Content-Type", "headers: { Content-Type: text/plain }", /is set by the proxy itself/],
    ["headers.jackfield-hop", "headers: { jackfield-hop: x }", /is set by the proxy itself/],
    ["headers.x-one", "headers: { X-One: a, x-one: b }", /stands here twice/],
    ["headers.X-Two", 'headers: { X-Two: "caf\u00e9" }', /must be printable ASCII/],
    ["headers.X-Line", 'headers: { X-Line: "a\\r\\nEvil: b" }', /must be printable ASCII/],
    ["headers.X-Blank", 'headers: { X-Blank: " a" }', /must be printable ASCII/],
    ["auth.name", "auth: { method: api_key, name: Content-Length }", /is set by the proxy itself/],
  ];
  for (const [key, line, message] of wrong) {
    const { errors } = load(context, { "connections/a.yml": connection("type: mcp", "url: https://a.example", line) });
    assert.equal(errors.length, 1, `${key}: ${errors.join("\n")}`);
    assert.ok(errors[0]?.startsWith(`connections/a.yml:5: connection.${key}: `), errors[0]);
    assert.match(errors[0] ?? "", message);
  }
  for (const line of [
    'headers: { X-Toolsets: "repos,issues", X-Read-Only: "true" }',
    "auth: { method: api_key, name: Authorization }",
    "auth: { method: api_key, in: query, name: host }",
  ]) {
    const files = { "connections/a.yml": connection("type: mcp", "url: https://a.example", line) };
    assert.deepEqual(load(context, files).errors, [], line);
  }
});

test("where secrets are kept is read from jackfield.yml, and checked", (context) => {
  const vault = (text: string) => load(context, { "jackfield.yml": `version: 1\n${text}\n` });
  assert.deepEqual(vault("stdio: deny").loaded.jackfield.vault, { store: "sql" });
  assert.deepEqual(vault("vault: { store: aws, region: eu-central-1 }").loaded.jackfield.vault, {
    store: "aws",
    region: "eu-central-1",
    prefix: "jackfield/",
  });
  assert.match(
    vault("vault: { store: gcp }").errors[0] ?? "",
    /^jackfield\.yml:2: vault\.store: must be one of sql, aws/,
  );
  const wrong = vault("vault: { store: aws, key: x }").loaded;
  assert.throws(() => vaultChoiceOf(wrong), { code: "config_invalid" });
});

test("a variable that is named and not set is told as Missing NAME, and stops nothing else", (context) => {
  const files = {
    "jackfield.yml": STDIO,
    "connections/a.yml": connection(
      "type: mcp",
      "url: https://a.example/mcp",
      `auth: { method: bearer, secret: '\${env:A_TOKEN}' }`,
    ),
    "connections/b.yml": connection("type: mcp", "command: [b]", `env: { FILE: "\${env:JACKFIELD_DATA_DIR}/b" }`),
  };
  const without = load(context, files);
  assert.deepEqual(without.errors, []);
  assert.deepEqual(without.missing, ["connections/a.yml:5: connection.auth.secret: Missing A_TOKEN"]);
  assert.equal(without.connections.length, 2);
  assert.deepEqual(load(context, files, { A_TOKEN: "x" }).missing, []);
});

test("commands are refused where jackfield.yml does not allow them", (context) => {
  const files = { "connections/a.yml": connection("type: mcp", "command: [a]") };
  const refusal =
    "connections/a.yml:4: connection.command: commands are started only where jackfield.yml says stdio: allow";
  assert.deepEqual(load(context, files).errors, [refusal]);
  assert.deepEqual(load(context, { ...files, "jackfield.yml": "version: 1\nstdio: deny\n" }).errors, [refusal]);
  assert.deepEqual(load(context, { ...files, "jackfield.yml": STDIO }).errors, []);
});

test("the sample configuration is valid", () => {
  const { errors, missing, organizations } = loadConfigDir(resolve(import.meta.dirname, "../examples/quickstart"), {});
  assert.deepEqual(errors, []);
  assert.deepEqual(missing, []);
  const slugs = organizations[0]?.environments[0]?.connections.map(({ slug }) => slug);
  assert.deepEqual(slugs, ["everything", "files", "memory"]);
});
