/** `tool_search` as a caller meets it: what it answers, what it activates, and what it says when it cannot. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { encode } from "gpt-tokenizer";
import { answerToolSearch, type ToolsetView, toolSearchDefinition } from "../server/mcp/fixed-tools/tool-search.ts";
import { CATALOGUE, type FixtureConnection, toolsetOf } from "./fixtures/search-toolset.ts";

interface Shown {
  name: string;
  connection: string;
  action: string;
  access: string;
  state?: string;
  score?: number;
  query?: number;
  inputSchema?: object;
  outputSchema?: object;
  signature?: string;
  alsoIn?: string[];
}
interface Structured {
  tools: Shown[];
  confidence: string;
  total: number;
  unmatchedTerms?: string[];
  nextCursor?: string;
  notFound?: { name: string; nearest: string[] }[];
  connections?: { id: string; state: string; tools: number; error?: string }[];
  hint?: string;
}

const CATALOGUE_TOOLSET = toolsetOf();

function search(args: object, toolset: ToolsetView = CATALOGUE_TOOLSET, active: string[] = [], activation = true) {
  const { result, activate } = answerToolSearch(args, { toolset, active: new Set(active), activation });
  const json = JSON.stringify(result);
  assert.ok(Buffer.byteLength(json) <= 24 * 1024, `the answer has ${Buffer.byteLength(json)} bytes`);
  const {
    content,
    isError,
    structuredContent,
  }: { content: { text: string }[]; isError?: boolean; structuredContent?: Structured } = JSON.parse(json);
  const empty: Structured = { tools: [], confidence: "error", total: 0 };
  return { ...(structuredContent ?? empty), text: content[0]!.text, isError: isError ?? false, activate };
}

const changed = (slug: string, change: Partial<FixtureConnection>) =>
  toolsetOf(CATALOGUE.map((connection) => (connection.slug === slug ? { ...connection, ...change } : connection)));
const failure = { state: "failed" as const, error: { code: "upstream_unreachable", message: "connection refused" } };

describe("a search", () => {
  it("names what to call, the connection and the upstream's own action", () => {
    const { tools, confidence } = search({ query: "scale a deployment" });
    const { name, connection, action, access } = tools[0]!;
    assert.deepEqual(
      { name, connection, action, access },
      {
        name: "deploys__scaleDeployment",
        connection: "deploys",
        action: "scaleDeployment",
        access: "write",
      },
    );
    assert.equal(confidence, "high");
  });
  it("shows definitions first, then less, and activates exactly the full ones", () => {
    const { tools, activate } = search({ query: "issue", limit: 6 });
    assert.ok(tools[0]!.inputSchema && tools[2]!.inputSchema);
    assert.ok(!tools[5]!.inputSchema);
    assert.deepEqual(
      activate,
      tools.filter((tool) => tool.inputSchema).map(({ name }) => name),
    );
  });
  it("serves each sub-query of a task by turns and says which", () => {
    const { tools } = search({ queries: ["create an issue", "send an email", "weather forecast"], limit: 6 });
    assert.deepEqual(
      tools.slice(0, 3).map(({ name, query }) => [name, query]),
      [
        ["tracker__create_issue", 0],
        ["mail__send_email", 1],
        ["weather__get_forecast", 2],
      ],
    );
  });
  it("narrows by connection id, label, alias or prefix, and by access", () => {
    const slugs = (connection: string | string[]) =>
      [
        ...new Set(search({ query: "list create get", connection, limit: 20 }).tools.map((tool) => tool.connection)),
      ].sort();
    assert.deepEqual(slugs("tracker"), ["tracker"]);
    assert.deepEqual(slugs("Jira"), ["tracker"]);
    assert.deepEqual(slugs("files"), ["files-a"]);
    assert.deepEqual(slugs(["billing", "weather"]), ["billing", "weather"]);
    assert.ok(search({ query: "issue", access: "read", limit: 20 }).tools.every(({ access }) => access === "read"));
  });
  it("goes on where the last page ended", () => {
    const args = { query: "issue", limit: 2 };
    const first = search(args);
    const second = search({ ...args, cursor: first.nextCursor });
    const all = search({ query: "issue", limit: 4 });
    assert.deepEqual(
      [...first.tools, ...second.tools].map(({ name }) => name),
      all.tools.map(({ name }) => name),
    );
    let { nextCursor } = first;
    let seen = first.tools.length;
    while (nextCursor !== undefined) {
      const page = search({ ...args, cursor: nextCursor });
      seen += page.tools.length;
      nextCursor = page.nextCursor;
    }
    assert.equal(seen, first.total);
  });
  it("refuses a cursor of another search", () => {
    const { nextCursor } = search({ query: "issue", limit: 1 });
    for (const args of [
      { query: "mail", cursor: nextCursor },
      { query: "issue", cursor: "1.AAAAAAAA" },
      { query: "issue", cursor: "x" },
    ]) {
      assert.equal(search(args).isError, true);
    }
  });
  it("folds the same tool of sibling connections and names where else it is", () => {
    assert.deepEqual(search({ query: "write file" }).tools[0]!.alsoIn, ["files-b__write_file"]);
  });
  it("shows what is active already", () => {
    assert.equal(
      search({ query: "get forecast" }, CATALOGUE_TOOLSET, ["weather__get_forecast"]).tools[0]!.state,
      "active",
    );
  });
  it("activates nothing where it is told not to, or the endpoint never does", () => {
    assert.deepEqual(search({ query: "create issue", activate: false }).activate, []);
    assert.deepEqual(search({ query: "create issue" }, CATALOGUE_TOOLSET, [], false).activate, []);
  });
  it("is the same every time", () =>
    assert.deepEqual(search({ query: "issue mail" }), search({ query: "issue mail" })));
});

describe("a need that nothing serves", () => {
  it("is answered with nothing, the connections, and a hint", () => {
    const { tools, confidence, connections, hint, unmatchedTerms, activate, isError } = search({
      query: "zqxv frobnicate",
    });
    assert.deepEqual(
      { tools, confidence, unmatchedTerms, activate, isError },
      {
        tools: [],
        confidence: "none",
        unmatchedTerms: ["zqxv", "frobnicate"],
        activate: [],
        isError: false,
      },
    );
    assert.equal(connections?.length, CATALOGUE.length);
    assert.ok(hint);
  });
  it("is flagged where a service is named that is not connected: three at most, none activated", () => {
    const { tools, confidence, activate, hint } = search({ query: "create an issue in Linear", limit: 20 });
    assert.equal(confidence, "low");
    assert.ok(tools.length > 0 && tools.length <= 3);
    assert.deepEqual(activate, []);
    assert.match(hint ?? "", /linear/);
  });
  it("spoils only its own step of a task", () => {
    const { confidence, activate, tools } = search({
      queries: ["create an issue in Linear", "get weather alerts"],
      limit: 10,
    });
    assert.equal(confidence, "high");
    assert.ok(activate.includes("weather__get_alerts"));
    for (const name of activate) assert.equal(tools.find((tool) => tool.name === name)?.query, 1);
  });
});

describe("select", () => {
  it("fetches exactly the named tools in order, whole, with their output schema", () => {
    const outputSchema = { type: "object", properties: { ok: { type: "boolean" } } };
    const weather = CATALOGUE.find(({ slug }) => slug === "weather")!;
    const toolset = changed("weather", { tools: weather.tools.map((tool) => ({ ...tool, outputSchema })) });
    const { tools, activate, notFound } = search({ query: "select:weather__get_alerts, tracker__get_issue" }, toolset);
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["weather__get_alerts", "tracker__get_issue"],
    );
    assert.deepEqual(tools[0]!.outputSchema, outputSchema);
    assert.deepEqual(activate, ["weather__get_alerts", "tracker__get_issue"]);
    assert.equal(notFound, undefined);
  });
  it("takes a bare action that only one tool has, and names the candidates of others", () => {
    const { tools, notFound } = search({ query: "select:get_balance,read_file" });
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["billing__get_balance"],
    );
    assert.deepEqual(notFound, [{ name: "read_file", nearest: ["files-a__read_file", "files-b__read_file"] }]);
  });
  it("says the nearest names of one that does not exist, beside those that do", () => {
    const { tools, notFound } = search({ query: "select:tracker__get_isue,weather__get_alerts" });
    assert.equal(tools.length, 1);
    assert.equal(notFound?.[0]?.name, "tracker__get_isue");
    assert.ok(notFound?.[0]?.nearest.includes("tracker__get_issue"));
  });
});

describe("connections", () => {
  it("are listed with counts and states where nothing is asked", () => {
    const { connections, tools, total } = search({});
    assert.equal(tools.length, 0);
    assert.deepEqual(
      connections?.find(({ id }) => id === "tracker"),
      { id: "tracker", state: "ok", tools: 6 },
    );
    assert.equal(
      total,
      CATALOGUE.reduce((sum, connection) => sum + connection.tools.length, 0),
    );
  });
  it("are listed tool by tool where only one is named; nothing is activated", () => {
    const { tools, total, activate } = search({ connection: "tracker" });
    assert.deepEqual(
      tools.map(({ action }) => action),
      CATALOGUE[0]!.tools.map(({ name }) => name),
    );
    assert.equal(total, 6);
    assert.deepEqual(activate, []);
  });
  it("that failed stand beside the matches of the others", () => {
    const { tools, connections, isError } = search(
      { query: "create an issue" },
      changed("mail", { ...failure, tools: [] }),
    );
    assert.equal(tools[0]!.name, "tracker__create_issue");
    assert.equal(isError, false);
    assert.deepEqual(connections, [
      { id: "mail", state: "failed", tools: 0, error: "upstream_unreachable: connection refused" },
    ]);
  });
  it("that failed are still searched in what is stored", () => {
    assert.equal(search({ query: "send an email" }, changed("mail", failure)).tools[0]!.name, "mail__send_email");
  });
  it("are an error only where all selected ones failed and nothing matches", () => {
    const broken = changed("mail", { ...failure, tools: [] });
    const one = search({ query: "send an email", connection: "mail" }, broken);
    assert.equal(one.isError, true);
    assert.match(one.text, /mail: upstream_unreachable: connection refused/);
    assert.equal(search({ connection: "mail" }, broken).isError, true);
    assert.equal(search({ query: "zqxv", connection: ["mail", "tracker"] }, broken).isError, false);
  });
  it("that need a sign-in are found and shown, and never activated", () => {
    const { tools, connections, activate } = search(
      { query: "send an email" },
      changed("mail", { state: "needsAuthorization" }),
    );
    assert.equal(tools[0]!.name, "mail__send_email");
    assert.equal(tools[0]!.state, "needsAuthorization");
    assert.ok(!activate.some((name) => name.startsWith("mail__")));
    assert.equal(connections?.[0]?.state, "needsAuthorization");
  });
  it("that are named and have no tools yet come first among those in trouble", () => {
    const broken = CATALOGUE.map((connection) =>
      connection.slug === "tracker" ? connection : { ...connection, ...failure, tools: [] },
    );
    const { connections, hint } = search({ query: "issue in the weather" }, toolsetOf(broken));
    assert.equal(connections?.[0]?.id, "weather");
    assert.ok((connections?.length ?? 0) <= 8);
    assert.match(hint ?? "", /more connections/);
  });
  it("that are turned off have no tools here", () => {
    const off = changed("mail", { state: "disabled" });
    assert.ok(
      !search({ query: "send an email", limit: 20 }, off).tools.some(({ connection }) => connection === "mail"),
    );
    assert.equal(search({ query: "select:mail__send_email" }, off).tools.length, 0);
  });
  it("that do not exist are an error with close ids", () => {
    const { isError, text } = search({ query: "issue", connection: "traker" });
    assert.equal(isError, true);
    assert.match(text, /"traker".*Close: tracker/);
  });
});

describe("wrong arguments", () => {
  const cases: [object, RegExp][] = [
    [{ query: "x".repeat(501) }, /500 characters/],
    [{ queries: Array.from({ length: 9 }, () => "a") }, /at most 8/],
    [{ query: 5 }, /text/],
    [{ queries: ["a", null] }, /text/],
    [{ query: "a", limit: 0 }, /1 to 20/],
    [{ query: "a", limit: 21 }, /1 to 20/],
    [{ query: "a", limit: 2.5 }, /1 to 20/],
    [{ query: "a", access: "admin" }, /access/],
    [{ query: "a", detail: "all" }, /detail/],
    [{ query: "a", activate: "no" }, /activate/],
    [{ query: "a", connection: 5 }, /connection/],
    [{ queries: ["a", "select:b"] }, /select/],
    [{ query: `select:${Array.from({ length: 21 }, (_, at) => `a__${at}`).join(",")}` }, /20 tools/],
  ];
  for (const [args, says] of cases) {
    it(`${JSON.stringify(args).slice(0, 60)} are said in a result`, () => {
      const { isError, text, activate } = search(args);
      assert.equal(isError, true);
      assert.match(text, says);
      assert.deepEqual(activate, []);
    });
  }
});

describe("the budget", () => {
  const monstrous = (size: number): FixtureConnection => ({
    slug: "monster",
    label: "Monster",
    description: "",
    aliases: [],
    tools: Array.from({ length: 30 }, (_, at) => ({
      name: `devour_${at}_${"x".repeat(20)}`,
      title: "界".repeat(2000),
      description: `Devour a thing. ${"界".repeat(size)}`,
      inputSchema: {
        type: "object",
        properties: Object.fromEntries(
          Array.from({ length: size / 10 }, (_, p) => [
            `property_${p}`,
            { type: "string", enum: ["界".repeat(200)], description: "界".repeat(900) },
          ]),
        ),
      },
      outputSchema: { type: "object", description: "y".repeat(size) },
      access: "read",
    })),
  });
  const toolset = toolsetOf([...CATALOGUE, monstrous(4000)]);
  for (const detail of [undefined, "names", "signatures", "full"]) {
    it(`holds with monstrous schemas at detail ${detail}`, () => {
      const { tools } = search({ query: "devour", limit: 20, ...(detail ? { detail } : {}) }, toolset);
      assert.ok(tools.length > 0);
    });
  }
  it("holds for a selection, and what did not fit is a signature", () => {
    const names = Array.from({ length: 20 }, (_, at) => `monster__devour_${at}_${"x".repeat(20)}`);
    const { tools } = search({ query: `select:${names.join(",")}` }, toolset);
    assert.ok(tools.length > 0);
    assert.ok(tools.every((tool) => tool.inputSchema === undefined));
    assert.equal(
      search({ query: `select:tracker__get_issue,${names[0]}` }, toolset).tools[0]!.inputSchema === undefined,
      false,
    );
  });
  it("holds for hundreds of failed connections with long words", () => {
    const many = Array.from({ length: 400 }, (_, at) => ({
      slug: `broken-${at}`,
      label: "界".repeat(300),
      description: "",
      aliases: [],
      tools: [],
      state: "failed" as const,
      error: { code: "upstream_status", message: "é".repeat(5000) },
    }));
    for (const args of [{}, { query: "issue" }, { query: "zqxv" }]) {
      assert.equal(search(args, toolsetOf([...CATALOGUE, ...many])).isError, false);
    }
    assert.equal(search({ query: "issue" }, toolsetOf(many)).isError, true);
  });
  it("keeps an ordinary answer near 500 tokens and its text to a list", () => {
    const { result } = answerToolSearch(
      { query: "issue", limit: 10 },
      { toolset: CATALOGUE_TOOLSET, active: new Set(), activation: true },
    );
    assert.ok(encode(JSON.stringify(result["structuredContent"])).length <= 600);
    assert.doesNotMatch(JSON.stringify(result["content"]), /inputSchema/);
  });
});

describe("the definition", () => {
  const large = toolsetOf(
    Array.from({ length: 500 }, (_, at) => ({ ...CATALOGUE[0]!, slug: `connection-number-${at}` })),
  );
  it("costs at most 600 tokens, its description 250, whatever is connected", () => {
    for (const toolset of [toolsetOf([]), CATALOGUE_TOOLSET, large]) {
      const definition = toolSearchDefinition(toolset);
      assert.ok(encode(JSON.stringify(definition)).length <= 600);
      assert.ok(encode(definition.description ?? "").length <= 250);
    }
  });
  it("describes every answer that is not an error", () => {
    const { outputSchema } = toolSearchDefinition(CATALOGUE_TOOLSET);
    const validate = new Ajv2020({ strict: false }).compile(outputSchema ?? {});
    for (const args of [
      {},
      { query: "issue" },
      { query: "zqxv" },
      { query: "select:a,tracker__get_issue" },
      { connection: "mail" },
    ]) {
      const { result } = answerToolSearch(args, { toolset: CATALOGUE_TOOLSET, active: new Set(), activation: true });
      assert.ok(validate(result["structuredContent"]), JSON.stringify(validate.errors));
    }
  });
});
