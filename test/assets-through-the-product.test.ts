/** Files and long texts from one service to another, and to the caller they are for, through the whole product. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ChangingUpstream, changingUpstream } from "./fixtures/changing-upstream.ts";
import { type AnyClient, connect, FLAVOURS, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type RecordingService, startRecordingService } from "./fixtures/recording-service.ts";

const FILE = randomBytes(9 * 1024 * 1024);
const TEXT = Array.from({ length: 30_000 }, (_, line) => `${line}: größer\n`).join("");

const operation = (more: object) => ({ responses: { 200: { description: "" } }, ...more });
const bytes = { type: "string", format: "binary" };
const STORE = JSON.stringify({
  openapi: "3.0.3",
  info: { title: "Store", version: "1" },
  paths: {
    "/files/report.pdf": { get: operation({ operationId: "download" }) },
    "/log": { get: operation({ operationId: "log" }) },
    "/upload": {
      post: operation({
        operationId: "upload",
        requestBody: {
          content: {
            "multipart/form-data": {
              schema: { type: "object", properties: { note: { type: "string" }, file: bytes } },
            },
          },
        },
      }),
      put: operation({ operationId: "replace", requestBody: { content: { "application/pdf": { schema: bytes } } } }),
    },
  },
});

interface Room {
  product: Product;
  /** Where the file comes from, and where it goes. */
  from: RecordingService;
  to: RecordingService;
  mcp: ChangingUpstream;
  client: AnyClient;
  time: { now: number };
  call(name: string, args?: object, client?: AnyClient): ReturnType<AnyClient["callTool"]>;
}

async function open(t: TestContext): Promise<Room> {
  const from = await startRecordingService((request, response) => {
    if (request.url === "/log") response.writeHead(200, { "content-type": "text/plain" }).end(TEXT);
    else response.writeHead(200, { "content-type": "application/pdf" }).end(FILE);
  });
  const to = await startRecordingService((_request, response) => response.end());
  const mcp = await changingUpstream(t, [
    { name: "draw", inputSchema: { type: "object" } },
    { name: "print", inputSchema: { type: "object", properties: { page: { type: "string", format: "byte" } } } },
  ]);
  const time = { now: Date.now() };
  const product = await startProduct({
    clock: () => time.now,
    connections: {
      source: { type: "openapi", spec: "./store.json", baseUrl: from.url, access: "suggested" },
      target: { type: "openapi", spec: "./store.json", baseUrl: to.url, access: "suggested" },
      declared: {
        type: "http",
        baseUrl: to.url,
        endpoints: [
          {
            name: "attach",
            method: "POST",
            path: "/attach",
            arguments: { paper: { type: "string", format: "binary" }, about: { type: "string" } },
            multipart: { document: "{paper}", subject: "{about}", fixed: "yes" },
          },
          {
            name: "put",
            method: "PUT",
            path: "/raw",
            arguments: { paper: { type: "string", format: "binary" } },
            file: "{paper}",
          },
        ],
        access: "suggested",
      },
      desk: { type: "mcp", url: mcp.url, access: { read: { tools: ["draw"] }, write: { tools: ["print"] } } },
    },
    endpoints: {
      passing: { assets: "pass" },
      narrow: { tools: { allow: ["target__*"] } },
      own: { discovery: "transparent", connection: "source" },
    },
    files: { "connections/store.json": STORE },
  });
  const client = await connect("v1", product.url, await product.token());
  t.after(async () => {
    await client.close();
    await product[Symbol.asyncDispose]();
    await from.close();
    await to.close();
  });
  return {
    product,
    from,
    to,
    mcp,
    client,
    time,
    call: (name, args = {}, by = client) => by.callTool({ name, arguments: { ...args } }),
  };
}

/** The address of the file that a result links to. */
function linkOf(result: object): string {
  const { content }: { content?: unknown } = result;
  assert.ok(Array.isArray(content), JSON.stringify(result).slice(0, 500));
  const link = content.find(({ type }) => type === "resource_link");
  assert.match(link?.uri, /^asset:\/\//, textOf(result));
  return link.uri;
}

test("nine megabytes go from a download to the uploads of other connections, and no answer holds them", async (t) => {
  const { call, to } = await open(t);
  const downloaded = await call("source__download");
  const handle = linkOf(downloaded);
  const digest = createHash("sha256").update(FILE).digest("hex");
  assert.match(
    textOf(downloaded),
    new RegExp(`^File "report.pdf", application/pdf, ${FILE.length} bytes, SHA-256 ${digest}`),
  );

  const answers = [downloaded];
  answers.push(await call("target__upload", { body: { note: "see", file: { data: handle } } }));
  const multipart = to.last();
  assert.match(String(multipart.headers["content-type"]), /^multipart\/form-data; boundary=/);
  assert.equal(Number(multipart.headers["content-length"]), multipart.body.length);
  const at = multipart.body.indexOf("%PDF") === -1 ? multipart.body.indexOf(FILE.subarray(0, 64)) : -1;
  assert.ok(FILE.equals(multipart.body.subarray(at, at + FILE.length)));
  const form = multipart.body.subarray(0, at).toString("latin1");
  assert.match(form, /name="note"\r\n\r\nsee\r\n/);
  assert.match(form, /name="file"; filename="report.pdf"\r\nContent-Type: application\/pdf\r\n\r\n$/);

  const named = { data: handle, filename: "other.bin", contentType: "application/x-other" };
  answers.push(await call("target__upload", { body: { file: named } }));
  assert.match(
    to.last().body.subarray(0, 300).toString("latin1"),
    /filename="other.bin"\r\nContent-Type: application\/x-other/,
  );

  answers.push(await call("target__replace", { body: { data: handle } }));
  assert.ok(FILE.equals(to.last().body));
  answers.push(await call("declared__put", { paper: { data: handle } }));
  assert.ok(FILE.equals(to.last().body));
  assert.equal(to.last().headers["content-type"], "application/pdf");
  answers.push(await call("declared__attach", { paper: { data: handle }, about: "it" }));
  const attached = to.last().body;
  assert.ok(attached.includes(FILE));
  assert.match(attached.subarray(0, 200).toString("latin1"), /name="document"; filename="report.pdf"/);
  assert.match(
    attached.subarray(-300).toString("latin1"),
    /name="subject"\r\n\r\nit\r\n.*name="fixed"\r\n\r\nyes\r\n/s,
  );
  for (const answer of answers) {
    assert.notEqual(answer.isError, true, textOf(answer));
    assert.ok(JSON.stringify(answer).length < 3000);
  }
});

test("a handle of another principal, one past its time and a changed file are refused, and nothing is sent", async (t) => {
  const { call, client, product, to, time } = await open(t);
  const handle = linkOf(await call("source__download"));
  const other = await connect("v1", product.url, await product.token({ name: "somebody else" }));
  t.after(() => other.close());
  const upload = (by: AnyClient) => call("target__upload", { body: { file: { data: handle } } }, by);
  const refused = async (by: AnyClient, says: RegExp) => {
    const result = await upload(by);
    assert.equal(result.isError, true);
    assert.match(textOf(result), says);
    await assert.rejects(by.readResource({ uri: handle }), says);
    const read = await call("tool_read", { name: handle }, by);
    assert.equal(read.isError, true);
    assert.match(textOf(read), says);
  };
  await refused(other, /There is no such file/);
  const kept = join(product.directory, "data", "assets");
  const [path = ""] = readdirSync(kept, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const content = readFileSync(path);
  content[content.length - 1] = (content.at(-1) ?? 0) ^ 1;
  writeFileSync(path, content);
  await refused(client, /not what it was/);
  writeFileSync(path, FILE);
  assert.deepEqual(to.requests, []);
  assert.notEqual((await upload(client)).isError, true);
  time.now += 24 * 3_600_000;
  await refused(client, /There is no such file/);
  assert.equal(to.requests.length, 1);
});

for (const flavour of FLAVOURS) {
  test(`a ${flavour} client reads its own files as resources, whole and in ranges`, async (t) => {
    const { call, product } = await open(t);
    const client = await connect(flavour, product.url, await product.token());
    t.after(() => client.close());
    const uri = linkOf(await call("source__log", {}, client));
    const [whole] = (await client.readResource({ uri })).contents;
    assert.equal(whole?.mimeType, "text/plain");
    assert.equal(whole && "text" in whole ? whole.text : "", TEXT);
    let read = "";
    for (let next: unknown = 0, rounds = 0; next !== undefined && rounds < 20; rounds += 1) {
      const [part] = (await client.readResource({ uri: `${uri}?offset=${next}&length=40007` })).contents;
      assert.ok(part && "text" in part);
      read += part.text;
      const about: { next?: number } = Object(part._meta?.["jackfield/asset"]);
      next = about.next;
    }
    assert.equal(read, TEXT);
    const file = linkOf(await call("source__download", {}, client));
    await assert.rejects(client.readResource({ uri: file }), /one answer takes 8388608/);
    const [part] = (await client.readResource({ uri: `${file}?offset=100&length=10` })).contents;
    assert.equal(part && "blob" in part ? part.blob : "", FILE.subarray(100, 110).toString("base64"));
    await assert.rejects(client.readResource({ uri: `${file}?offset=-1` }), /must be a number/);
  });
}

test("of a long text the beginning is shown, its size told, and the rest read by the tool that is always there", async (t) => {
  const { call } = await open(t);
  const answer = textOf(await call("source__log"));
  assert.ok(answer.length < 45_000);
  const size = Buffer.byteLength(TEXT);
  const [, shown, name, args] =
    /\n\[The first (\d+) of \d+ bytes\. The whole text is kept until \S+ as asset:\S+\. Read on: tool_read \{"name":"([^"]+)","arguments":(\{.*?\})\}\.\]$/.exec(
      answer,
    ) ?? [];
  assert.match(answer, new RegExp(`of ${size} bytes`));
  let text = TEXT.slice(0, answer.lastIndexOf("\n[The first"));
  assert.equal(Buffer.byteLength(text), Number(shown));
  assert.ok(answer.startsWith(text));
  let next = JSON.parse(args ?? "");
  for (let rounds = 0; next !== undefined && rounds < 20; rounds += 1) {
    const part = textOf(await call("tool_read", { name, arguments: next }));
    const note = part.lastIndexOf("\n[Bytes");
    text += part.slice(0, note);
    next = /go on with (\{.*\})\.\]$/.exec(part)?.[1];
    if (next !== undefined) next = JSON.parse(next);
  }
  assert.equal(text, TEXT);
});

test("an endpoint that only passes files on shows none, and one without the tools of their connection neither", async (t) => {
  const { call, client, product, to } = await open(t);
  const token = { name: "agent" };
  const passing = await connect(
    "v1",
    product.endpoint("passing"),
    await product.token({ ...token, endpoint: "passing" }),
  );
  t.after(() => passing.close());
  const handle = linkOf(await call("source__download", {}, passing));
  await assert.rejects(passing.readResource({ uri: handle }), /no such file/i);
  assert.match(textOf(await call("tool_read", { name: handle }, passing)), /no such file/);
  assert.notEqual((await call("target__replace", { body: { data: handle } }, passing)).isError, true);
  assert.ok(FILE.equals(to.last().body));
  const narrow = await connect("v1", product.endpoint("narrow"), await product.token({ ...token, endpoint: "narrow" }));
  t.after(() => narrow.close());
  await assert.rejects(narrow.readResource({ uri: handle }), /no such file/i);
  assert.notEqual((await call("target__replace", { body: { data: handle } }, narrow)).isError, true);
  assert.equal((await client.readResource({ uri: `${handle}?length=1` })).contents.length, 1);
  const cut = textOf(await call("source__log", {}, passing));
  assert.match(cut, /It cannot be read here, only given to tools that take a file\.\]$/);
});

test("a file in which a service tells its credential back is not kept", async (t) => {
  const secret = "token-of-the-store-1234567890";
  const service = await startRecordingService(({ headers, url }, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" });
    const told = Buffer.from(url === "/log" ? "Bearer [nothing]" : String(headers.authorization));
    response.write(Buffer.concat([randomBytes(300_000), told.subarray(0, 20)]));
    setImmediate(() => response.end(Buffer.concat([told.subarray(20), randomBytes(300_000)])));
  });
  process.env["STORE_TOKEN"] = secret;
  const auth = { method: "bearer", secret: `\${env:STORE_TOKEN}` };
  await using product = await startProduct({
    connections: { store: { type: "openapi", spec: "./store.json", baseUrl: service.url, access: "suggested", auth } },
    files: { "connections/store.json": STORE },
  });
  const client = await connect("v1", product.url, await product.token());
  t.after(async () => {
    await client.close();
    await service.close();
  });
  const call = (name: string) => client.callTool({ name, arguments: {} });
  const result = await call("store__download");
  assert.equal(result.isError, true);
  assert.match(textOf(result), /holds the credential of this connection.*The call itself succeeded/);
  assert.equal(await product.app.store.models.assets.count(), 0);
  linkOf(await call("store__log"));
});

test("a transparent endpoint of an API reads on by resources/read", async (t) => {
  const { call, product } = await open(t);
  const own = await connect("v1", product.endpoint("own"), await product.token({ endpoint: "own" }));
  t.after(() => own.close());
  const answer = textOf(await call("log", {}, own));
  const [, uri = ""] = /Read on: resources\/read with the uri (\S+)\.\]$/.exec(answer) ?? [];
  const [rest] = (await own.readResource({ uri })).contents;
  const shown = answer.slice(0, answer.lastIndexOf("\n[The first"));
  assert.equal(shown + (rest && "text" in rest ? rest.text : ""), TEXT);
});

test("large pictures, sounds and files of an MCP server are kept, small ones stay, and it takes handles as base64", async (t) => {
  const { call, mcp } = await open(t);
  const picture = randomBytes(300_000);
  const small = randomBytes(1000).toString("base64");
  const printed: unknown[] = [];
  mcp.blocks = (name, args) => {
    if (name === "print") {
      printed.push(args["page"]);
      return [{ type: "text", text: "printed" }];
    }
    return [
      { type: "text", text: "Here." },
      { type: "image", data: small, mimeType: "image/png" },
      { type: "image", data: picture.toString("base64"), mimeType: "image/png" },
      { type: "audio", data: picture.toString("base64"), mimeType: "audio/wav" },
      {
        type: "resource",
        resource: { uri: "file:///x/a.zip", mimeType: "application/zip", blob: picture.toString("base64") },
      },
    ];
  };
  const result = await call("desk__draw");
  assert.ok(Array.isArray(result.content));
  assert.ok(JSON.stringify(result).length < 10_000);
  assert.deepEqual(result.content.slice(0, 2), [
    { type: "text", text: "Here." },
    { type: "image", data: small, mimeType: "image/png" },
  ]);
  const links: { [key: string]: unknown }[] = result.content.filter(({ type }) => type === "resource_link");
  assert.deepEqual(
    links.map(({ name, mimeType, size }) => [name, mimeType, size]),
    [
      ["image", "image/png", 300_000],
      ["audio", "audio/wav", 300_000],
      ["a.zip", "application/zip", 300_000],
    ],
  );
  const sent = await call("desk__print", { page: links[0]?.uri });
  assert.notEqual(sent.isError, true, textOf(sent));
  assert.deepEqual(printed, [picture.toString("base64")]);
});
