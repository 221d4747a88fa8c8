/** Ranking: what comes first, and why. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { judge } from "../server/search/confidence.ts";
import { buildIndex, prepareIndex } from "../server/search/index.ts";
import { isOneEdit } from "../server/search/query.ts";
import { rank } from "../server/search/rank.ts";
import { cutText, firstSentence, signatureOf, trimSchema } from "../server/search/render.ts";
import { rankTask } from "../server/search/task.ts";
import { createThesaurus } from "../server/search/thesaurus.ts";
import { splitWords, stem, tokenize } from "../server/search/tokenize.ts";
import { sameDoing, verbClasses } from "../server/search/verbs.ts";
import { CATALOGUE, type FixtureConnection, toDocument } from "./fixtures/search-toolset.ts";

const documentsOf = (connections: readonly FixtureConnection[]) =>
  connections.flatMap((connection) => connection.tools.map((tool) => toDocument(connection, tool)));
const index = buildIndex(documentsOf(CATALOGUE));
const names = (text: string, connections?: readonly FixtureConnection[]) => {
  const own = connections === undefined ? index : buildIndex(documentsOf(connections));
  return rank(own, text).hits.map((hit) => own.documents[hit.document]!.name);
};
const first = (text: string) => names(text)[0];

describe("words", () => {
  it("are cut out of identifiers, digits and other scripts", () => {
    assert.deepEqual(splitWords("getHTTPResponseV2_for-user's"), ["get", "http", "response", "v", "2", "for", "user"]);
    assert.deepEqual(splitWords("给GitHub仓库加星标"), ["给", "git", "hub", "仓库", "库加", "加星", "星标"]);
    assert.deepEqual(splitWords("Ｆｕｌｌｗｉｄｔｈ résumé"), ["fullwidth", "resume"]);
  });
  it("are stemmed, and stop words dropped", () => assert.deepEqual(tokenize("Listing the issues"), ["list", "issu"]));
  it("have related words both ways", () => {
    const thesaurus = createThesaurus({ groups: [["create", "add"]], acronyms: { pr: "pull request" } });
    assert.deepEqual(thesaurus.synonyms(stem("adding")), [stem("create")]);
    assert.deepEqual(thesaurus.acronym("pr"), [stem("pull"), stem("request")]);
  });
  it("have phrases that ask for something else than their words do, with a gap where one is", () => {
    const thesaurus = createThesaurus(
      { phrases: { "get rid of": "delete" } },
      { phrases: { "let _ know": "send message" } },
    );
    assert.deepEqual(thesaurus.phrases(splitWords("How do I get rid of this?")), [
      { words: ["get", "rid", "of"], terms: [stem("delete")] },
    ]);
    const [found] = thesaurus.phrases(splitWords("let the whole team know"));
    assert.deepEqual(found?.terms, [stem("send"), stem("message")]);
    assert.deepEqual(thesaurus.phrases(splitWords("let all of the people here know")), []);
  });
  it("say what is done: adding is not listing, and a noun is neither", () => {
    const [adding, listing, nothing] = ["please add a row", "show rows", "quarterly numbers"].map((text) =>
      verbClasses(text, 6),
    );
    assert.equal(sameDoing(adding!, verbClasses("create_row", 8)), true);
    assert.equal(sameDoing(adding!, listing!), false);
    assert.equal(sameDoing(adding!, nothing!), undefined);
  });
  it("one typing error apart are recognised", () => {
    assert.deepEqual(
      [
        ["forecast", "forcast"],
        ["forecast", "foercast"],
        ["forecast", "forecasts"],
        ["forecast", "forecaXX"],
        ["a", "a"],
      ].map(([a, b]) => isOneEdit(a!, b!)),
      [true, true, true, false, false],
    );
  });
});

describe("ranking", () => {
  it("puts an exact name first, however it is written", () => {
    for (const document of index.documents) {
      for (const text of [document.name, document.name.toUpperCase(), document.action.replaceAll("_", " ")]) {
        const { hits } = rank(index, text);
        const found = [hits[0]!, ...hits.slice(1, 2)].flatMap((hit) => [hit.document, ...hit.alsoIn]);
        assert.ok(
          found.some((at) => index.documents[at]!.action === document.action),
          text,
        );
      }
    }
  });
  it("puts a name that stands in a sentence before tools that match more words", () => {
    assert.equal(first("please use get_issue for the issues of the project that I list"), "tracker__get_issue");
  });
  it("prefers the tool that does no more than what is asked", () => {
    assert.equal(first("create an issue"), "tracker__create_issue");
    assert.equal(first("comment on an issue"), "tracker__create_issue_comment");
  });
  it("lifts the tools of a connection that the query names by id, label or alias", () => {
    assert.equal(first("delete in mail"), "mail__delete_message");
    assert.equal(first("create a ticket in Jira"), "tracker__create_issue");
    assert.equal(first("send a message in Slack"), "chat__post_message");
  });
  it("knows words that mean nearly the same, and acronyms", () => {
    assert.equal(first("remove a message"), "mail__delete_message");
    assert.equal(first("make a folder"), "files-a__create_directory");
    assert.equal(first("show bills"), "billing__list_invoices");
    assert.equal(first("rescale on k8s"), "deploys__scaleDeployment");
  });
  it("knows what a phrase asks for", () => {
    assert.equal(first("get rid of a message"), "mail__delete_message");
    assert.equal(first("let the team know in the channel"), "chat__post_message");
  });
  it("prefers a tool that does the kind of thing that is asked for", () => {
    const board: FixtureConnection = {
      slug: "board",
      label: "Board",
      description: "",
      aliases: [],
      tools: ["get_notes", "post_note"].map((name) => ({
        name,
        description: "Notes on a card.",
        inputSchema: {},
        access: name === "get_notes" ? "read" : "write",
      })),
    };
    assert.equal(names("add notes to a card", [board])[0], "board__post_note");
    assert.equal(names("what notes are on a card", [board])[0], "board__get_notes");
  });
  it("knows what a well-known app is for though none of its tools says so", () => {
    const app = (slug: string): FixtureConnection => ({
      slug,
      label: slug,
      description: "",
      aliases: [],
      tools: [{ name: "search", description: "Searches.", inputSchema: {}, access: "read" }],
    });
    assert.deepEqual(names("find a homestay", [app("acme"), app("airbnb")])[0], "airbnb__search");
  });
  it("reads Japanese and Chinese", () => {
    assert.equal(first("社内文書を検索"), "kensaku__search_documents");
    assert.equal(first("翻訳"), "kensaku__translate_text");
  });
  it("forgives a typing error only in a word that nothing knows", () => {
    assert.equal(first("wether forcast"), "weather__get_forecast");
    assert.equal(first("invoces"), "billing__list_invoices");
    assert.deepEqual(names("mial"), []);
  });
  it("reads a path as a file and not as words", () => {
    assert.equal(first("write the result to /issues/comment/weather/forecast.md"), "files-a__write_file");
  });
  it("folds the same tool of sibling connections into one hit", () => {
    const { hits } = rank(index, "read a file");
    assert.equal(index.documents[hits[0]!.document]!.name, "files-a__read_file");
    assert.deepEqual(
      hits[0]!.alsoIn.map((at) => index.documents[at]!.name),
      ["files-b__read_file"],
    );
  });
  it("keeps tools of one name apart where their definitions differ", () => {
    const [a, b] = CATALOGUE.filter(({ slug }) => slug.startsWith("files-"));
    const other = { ...b!, tools: b!.tools.map((tool) => ({ ...tool, description: `${tool.description} Slowly.` })) };
    assert.deepEqual(names("read a file", [a!, other]).slice(0, 2).sort(), [
      "files-a__read_file",
      "files-b__read_file",
    ]);
  });
  it("is the same every time, and ties keep the order of the index", () => {
    assert.deepEqual(names("get issue list"), names("get issue list"));
    const twin = (slug: string): FixtureConnection => ({
      slug,
      label: slug,
      description: "",
      aliases: [],
      tools: [{ name: `look_${slug}`, description: "Look.", inputSchema: {}, access: "read" }],
    });
    assert.deepEqual(names("look", [twin("a"), twin("b")]), ["a__look_a", "b__look_b"]);
  });
  it("depends on nothing outside the index", () => {
    const own = CATALOGUE.filter(({ slug }) => slug === "tracker");
    const before = rank(buildIndex(documentsOf(own)), "issue comment");
    buildIndex(documentsOf(CATALOGUE));
    assert.deepEqual(rank(buildIndex(documentsOf(own)), "issue comment"), before);
  });
  it("narrows before it cuts", () => {
    const { hits } = rank(index, "issue", { admits: (at) => index.documents[at]!.access === "write", most: 2 });
    assert.equal(hits.length, 2);
    assert.ok(hits.every((hit) => index.documents[hit.document]!.access === "write"));
  });
  it("survives an empty index, an empty query and one of nothing but signs", () => {
    assert.deepEqual(rank(buildIndex([]), "anything").hits, []);
    for (const text of ["", "the of and", "!!! ---", "\u0000", "__proto__ constructor"]) {
      assert.doesNotThrow(() => rank(index, text));
    }
  });
});

describe("segments", () => {
  it("are built a little at a time, with the same result", async () => {
    const own = documentsOf(
      CATALOGUE.map((connection) => ({ ...connection, description: `${connection.description} Prepared.` })),
    );
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    const prepared = await prepareIndex(own);
    clearInterval(counting);
    assert.ok(turns > 0, "the event loop went on");
    const same = documentsOf(
      CATALOGUE.map((connection) => ({ ...connection, description: `${connection.description} Prepared.` })),
    );
    assert.deepEqual(rank(buildIndex(same), "comment on an issue"), rank(prepared, "comment on an issue"));
  });
  it("are shared by indexes that hold the same tools of a connection, and not by others", () => {
    const [tracker] = documentsOf(CATALOGUE.filter(({ slug }) => slug === "tracker"));
    const whole = buildIndex(documentsOf(CATALOGUE));
    const again = buildIndex(documentsOf(CATALOGUE));
    assert.ok(whole.segments.every(({ segment }, at) => segment === again.segments[at]!.segment));
    const less = buildIndex([tracker!]);
    assert.ok(whole.segments.every(({ segment }) => segment !== less.segments[0]!.segment));
  });
  it("of one index do not change what another one counts", () => {
    const tracker = documentsOf(CATALOGUE.filter(({ slug }) => slug === "tracker"));
    const alone = buildIndex(tracker);
    const idf = alone.idf(stem("issue"));
    const whole = buildIndex(documentsOf(CATALOGUE));
    assert.notEqual(whole.idf(stem("issue")), idf);
    assert.equal(alone.idf(stem("issue")), idf);
    assert.equal(alone.idf(stem("weather")), undefined);
  });
});

describe("steps of one task", () => {
  const shop = (slug: string, tools: string[]): FixtureConnection => ({
    slug,
    label: slug,
    description: "",
    aliases: [],
    tools: tools.map((name) => ({ name, description: "", inputSchema: {}, access: "read" })),
  });
  const task = (queries: string[], connections: readonly FixtureConnection[] = CATALOGUE) => {
    const own = buildIndex(documentsOf(connections));
    const { hits } = rankTask(own, queries, { admits: () => true, most: 10 });
    return hits.map(({ hit, query }) => [query, own.documents[hit.document]!.name] as const);
  };
  it("take turns, and each says which one it serves", () => {
    const found = task(["create an issue", "send a mail", "weather forecast"]);
    assert.deepEqual(
      found.slice(0, 3).map(([query]) => query),
      [0, 1, 2],
    );
    assert.equal(found[0]![1], "tracker__create_issue");
    assert.equal(found[2]![1], "weather__get_forecast");
  });
  it("lose no turn to a tool that another step found before", () => {
    const found = task(["read a file", "read the file", "weather forecast"]);
    assert.deepEqual(
      found.slice(0, 3).map(([query]) => query),
      [0, 1, 2],
    );
    assert.equal(new Set(found.map(([, name]) => name)).size, found.length);
  });
  it("tend to need the same connection", () => {
    const both = [shop("kiosk", ["click_button"]), shop("robot", ["open_page", "click_button_robot"])];
    assert.equal(task(["click button"], both)[0]![1], "kiosk__click_button");
    assert.equal(
      task(["click a button", "open page"], both).find(([query]) => query === 0)![1],
      "robot__click_button_robot",
    );
  });
});

describe("confidence", () => {
  const judged = (text: string) => judge(index, rank(index, text));
  it("is high for a name and for a plain need", () => {
    for (const text of ["tracker__get_issue", "create an issue", "send an email"]) {
      assert.equal(judged(text).confidence, "high", text);
    }
  });
  it("is none where no word is known", () => {
    assert.deepEqual(judged("zqxv frobnicate"), {
      confidence: "none",
      unmatchedTerms: ["zqxv", "frobnicate"],
      missingApp: undefined,
    });
  });
  it("is low where a well-known service is named that is not connected", () => {
    const { confidence, missingApp, unmatchedTerms } = judged("create an issue in Linear");
    assert.deepEqual(
      { confidence, missingApp, unmatchedTerms },
      { confidence: "low", missingApp: "linear", unmatchedTerms: ["linear"] },
    );
  });
  it("knows a service by a connection's alias", () =>
    assert.equal(judged("create an issue in Jira").confidence, "high"));
});

describe("rendering", () => {
  it("cuts at words and never inside a character", () => {
    assert.equal(cutText("one two three", 9), "one two…");
    assert.ok(cutText("😀".repeat(50), 20).isWellFormed());
  });
  it("takes the first sentence", () => {
    assert.equal(firstSentence("Gets v1.2 of it. And more."), "Gets v1.2 of it.");
    assert.equal(firstSentence("検索します。次の文。"), "検索します。");
  });
  it("writes signatures that can be called", () => {
    const schema = {
      type: "object",
      properties: {
        note: { type: "string" },
        state: { enum: ["open", "closed"] },
        tags: { type: "array", items: { type: "string" } },
        id: { type: ["integer", "null"] },
      },
      required: ["id"],
    };
    assert.equal(signatureOf(schema), "(id: integer, note?, state?: open|closed, tags?: string[])");
    assert.equal(signatureOf({}), "()");
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`property_${at}`, { type: "string" }]));
    assert.match(signatureOf({ properties: many }), /more\)$/);
  });
  it("trims a schema to what validates, and keeps properties whose names look like keywords", () => {
    const schema = {
      $schema: "x",
      title: "T",
      type: "object",
      properties: {
        title: { type: "string", title: "Title", default: "", description: "d".repeat(500) },
        default: { enum: ["title"] },
      },
      required: ["title"],
    };
    const { title, default: named } = (trimSchema(schema)["properties"] ?? {}) as Record<
      string,
      Record<string, unknown>
    >;
    assert.deepEqual(Object.keys(title!), ["type", "description"]);
    assert.equal(String(title!["description"]).length <= 120, true);
    assert.deepEqual(named, { enum: ["title"] });
    assert.deepEqual(trimSchema(schema)["required"], ["title"]);
  });
});
