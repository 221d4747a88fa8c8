/**
 * Searches 50,000 tools of 500 connections.
 *
 * Prints how long one search takes, as a ratio to reading through the same texts once; how long it takes until a
 * connection of 100 changed tools is searched, as a ratio to building the whole index, and the longest turn of the event
 * loop meanwhile; and the memory of the index.
 *
 * node --expose-gc bench/search.ts [tools]
 */
import { createHash } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { prepareIndex, type SearchDocument } from "../server/search/index.ts";
import { rank } from "../server/search/rank.ts";

const TOOLS = Number(process.argv[2] ?? 50_000);
const PER_CONNECTION = 100;
const QUERIES = 1000;
const say = (text: string) => process.stdout.write(`${text}\n`);

/** The same numbers every time (Lehmer, MINSTD). */
let seed = 20_261_130;
function random(below: number): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % below;
}
const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)]!;

const VERBS = ["get", "list", "create", "update", "delete", "search", "send", "archive", "export", "assign"];
const NOUNS = [
  ..."issue ticket comment user team project file folder message channel invoice payment order product".split(" "),
  ..."customer contact deal event meeting report dashboard pipeline deployment secret policy alert".split(" "),
];
/** Rarer words, as names and fields of services are. */
const RARE = Array.from(
  { length: 20_000 },
  (_, at) => `${pick(["zor", "mel", "kan", "tri", "vex", "pol"])}${at.toString(36)}`,
);
const word = () => (random(3) === 0 ? pick(RARE) : pick([...NOUNS, ...VERBS]));
const text = (words: number) => Array.from({ length: words }, word).join(" ");

function tool(connection: string, at: number, edition: number): SearchDocument {
  const action = `${pick(VERBS)}_${pick(NOUNS)}_${pick(RARE)}_${at}`;
  const parameters = Array.from({ length: 5 }, () => [pick(RARE), { type: "string", description: text(3) }]);
  const description = `${text(14)}.`;
  return {
    name: `${connection}__${action}`,
    connection,
    action,
    description,
    inputSchema: { type: "object", properties: Object.fromEntries(parameters) },
    connectionLabel: connection,
    connectionDescription: text(6),
    aliases: [],
    access: "read",
    schemaHash: createHash("sha256").update(`${action}${description}${edition}`).digest("hex"),
  };
}

function connectionOf(number: number, edition = 0): SearchDocument[] {
  const tools = Array.from({ length: PER_CONNECTION }, (_, at) => tool(`c${number}`, at, edition));
  const { connectionDescription } = tools[0]!;
  return tools.map((own) => ({ ...own, connectionDescription }));
}

const heap = () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
};
const at = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;

const connections = Array.from({ length: Math.ceil(TOOLS / PER_CONNECTION) }, (_, number) => connectionOf(number));
const before = heap();
const buildStarted = performance.now();
let index = await prepareIndex(connections.flat());
const built = performance.now() - buildStarted;
const queries = Array.from({ length: QUERIES }, () => `${pick(VERBS)} ${pick(NOUNS)} ${text(2 + random(5))}`);
for (const query of queries.slice(0, 100)) rank(index, query, { most: 10 });
const memory = heap() - before;

const times = queries
  .map((query) => {
    const started = performance.now();
    rank(index, query, { most: 10 });
    return performance.now() - started;
  })
  .sort((a, b) => a - b);

const lines = index.documents.map(({ action, description }) => `${action} ${description}`);
const scans = queries
  .slice(0, 20)
  .map((query) => {
    const started = performance.now();
    const words = query.split(" ");
    lines.filter((line) => words.some((own) => line.includes(own)));
    return performance.now() - started;
  })
  .sort((a, b) => a - b);

const updates: number[] = [];
const delays: number[] = [];
for (let edition = 1; edition <= 10; edition += 1) {
  connections[edition] = connectionOf(edition, edition);
  const all = connections.flat();
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const started = performance.now();
  index = await prepareIndex(all);
  rank(index, queries[edition]!, { most: 10 });
  updates.push(performance.now() - started);
  await new Promise((done) => setImmediate(done));
  loop.disable();
  delays.push(loop.max / 1e6);
}
updates.sort((a, b) => a - b);

const p99 = at(times, 0.99);
say(`${index.documents.length} tools, ${connections.length} connections`);
say(
  `search: p50 ${at(times, 0.5).toFixed(2)} ms, p99 ${p99.toFixed(2)} ms; ${(p99 / at(scans, 0.5)).toFixed(2)} times reading the texts once`,
);
say(`index: ${(memory / 2 ** 20).toFixed(0)} MiB; built in ${(built / 1000).toFixed(1)} s, a little at a time`);
say(
  `update of ${PER_CONNECTION} tools: median ${at(updates, 0.5).toFixed(1)} ms, most ${updates.at(-1)!.toFixed(1)} ms; ${(at(updates, 0.5) / built).toFixed(4)} times the whole`,
);
say(`longest turn of the event loop during updates: ${Math.max(...delays).toFixed(1)} ms`);
