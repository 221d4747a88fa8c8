/**
 * Real actions of real pieces, end to end: a client calls a tool at the MCP endpoint, the piece's own code runs in the
 * sandbox, and a service that answers for the hosts of the internet looks at what it is asked.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../fixtures/clients.ts";
import { type Cloud, startCloud } from "../fixtures/cloud.ts";
import { type Product, startProduct } from "../fixtures/product.ts";
import type { Case } from "./case.ts";
import { CASES } from "./cases.ts";
import { CONNECTIONS, ENVIRONMENT, HOSTS, OFFERS } from "./connections.ts";
import { installReal, withPiecesOf } from "./installed.ts";
import { REAL_PIECES } from "./list.ts";

let cloud: Cloud;
let product: Product;
let client: Awaited<ReturnType<typeof connect>>;

before(async () => {
  await installReal(REAL_PIECES);
  Object.assign(process.env, ENVIRONMENT);
  cloud = await startCloud(HOSTS);
  product = await startProduct({
    directory: withPiecesOf(REAL_PIECES),
    connections: CONNECTIONS,
    files: { "jackfield.yml": OFFERS },
    resolver: cloud.resolver,
    trust: cloud.trust,
    fetchDocument: () => Promise.reject(new Error("there is no internet")),
  });
  client = await connect("v2-modern", product.url, await product.token());
});

after(async () => {
  await client?.close();
  await product?.[Symbol.asyncDispose]();
  await cloud?.close();
});

for (const item of CASES) {
  test(`${item.piece}: ${item.action}${item.note === undefined ? "" : `, ${item.note}`}`, () => run(item));
}

test("at least 40 actions of at least 25 pieces were called", () => {
  const calls = CASES.filter(({ action }) => action !== "resolve_options");
  const actions = new Set(calls.map(({ piece, action }) => `${piece} ${action}`));
  assert.ok(actions.size >= 40, `${actions.size} actions`);
  assert.ok(new Set(calls.map(({ piece }) => piece)).size >= 25);
});

async function run({ piece, action, args, answer, asked, result }: Case): Promise<void> {
  cloud.answer(answer ?? (() => ({ body: {} })));
  cloud.taken();
  const told = await client.callTool({ name: nameOf(piece, action), arguments: args });
  const requests = cloud.taken();
  const text = JSON.stringify(told.content);
  const seen = requests.map(({ method, host, path }) => `${method} ${host}${path}`).join("\n");
  assert.notEqual(told.isError, true, `${text}\n${seen}`);
  assert.equal(requests.length, asked.length, `requests:\n${seen}`);
  for (const [index, check] of asked.entries()) {
    const request = requests[index];
    assert.ok(request);
    check(request);
  }
  if (result !== undefined) assert.match(text, result);
  for (const secret of Object.values(ENVIRONMENT)) assert.ok(!text.includes(secret), "a secret came back");
}

function nameOf(piece: string, action: string): string {
  const connection = product.app.registry.connections().find(({ slug }) => slug === piece);
  const tool = connection?.tools.find((candidate) => candidate.action === action);
  assert.ok(tool, `${piece} has no tool for ${action}: ${connection?.loadError?.message ?? connection?.state}`);
  return tool.name;
}
