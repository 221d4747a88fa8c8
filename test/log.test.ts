import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../server/observe/log.ts";
import { makeToken } from "../server/people/token-format.ts";

type Level = "debug" | "info" | "warn" | "error" | "silent";

function room(format: "auto" | "json" | "pretty" = "json", level: Level = "debug", terminal = false) {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLog({ log: { level, format } }, { destination, terminal });
  return { log, lines, last: (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? "") };
}

test("a line is one JSON object with level, time, message and details", () => {
  const { log, lines, last } = room();
  log.info({ connection: "tracker", tools: 12 }, "catalogue\nloaded");
  const { time, ...rest } = last();
  assert.deepEqual(rest, { level: "info", msg: "catalogue\nloaded", connection: "tracker", tools: 12 });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.equal(lines[0]?.split("\n").length, 2);
});

test("fields named like secrets are not logged, however deep and however written", () => {
  const { log, lines, last } = room();
  const names = [
    "authorization",
    "Authorization",
    "cookie",
    "Set-Cookie",
    "token",
    "accessToken",
    "refresh_token",
    "secret",
  ];
  names.push(
    "client_secret",
    "password",
    "packet",
    "credential",
    "credentials",
    "api_key",
    "X-API-Key",
    "apiKey",
    "private-key",
  );
  for (const name of names) {
    log.warn({ request: { headers: [{ [name]: "hunter2" }] }, [name]: { inner: "hunter2" } }, "m");
    assert.doesNotMatch(lines.at(-1) ?? "", /hunter2/, name);
    assert.equal(last()[name], "[redacted]", name);
  }
  log.info({ token: undefined, secret: null, password: true, tokenId: "01ABC", keyId: "k" }, "m");
  assert.partialDeepStrictEqual(last(), { secret: null, password: true, tokenId: "01ABC", keyId: "k" });
});

test("values that look like secrets are not logged, in fields, messages and errors", () => {
  const { log, lines } = room();
  const token = makeToken("agt");
  const held = new Error(`refused ${token}`, { cause: new Error("Bearer abcdefghijkl") });
  log.error(
    { error: held, url: "https://user:pass-word@host/?access_token=abc&x=1&code=def", header: `bearer ${token}` },
    `with ${token}`,
  );
  const line = lines[0] ?? "";
  for (const secret of [token.slice(8), "abcdefghijkl", "pass-word", "=abc", "=def"])
    assert.ok(!line.includes(secret), secret);
  assert.match(line, /x=1/);
  assert.match(line, /refused jkf_\[redacted\]/);
});

test("an error is logged with stack and cause, without the values that drivers attach to it", () => {
  const { log, last, lines } = room();
  const error = Object.assign(new Error("outer", { cause: new TypeError("inner") }), {
    code: "E_CODE",
    sql: "INSERT hunter2",
  });
  log.error({ error }, "failed");
  assert.partialDeepStrictEqual(last(), {
    error: { type: "Error", message: "outer", code: "E_CODE", cause: { type: "TypeError" } },
  });
  assert.match(JSON.stringify(last()["error"]), /log\.test\.ts/);
  assert.doesNotMatch(lines[0] ?? "", /hunter2/);
});

test("what is circular, deep, huge or binary is logged in bounds", () => {
  const { log, lines, last } = room();
  const circle: Record<string, unknown> = { name: "circle" };
  circle["self"] = circle;
  let deep: unknown = "bottom";
  for (let level = 0; level < 5_000; level += 1) deep = { deep };
  log.info(
    { circle, deep, huge: "x".repeat(1_000_000), bytes: Buffer.alloc(10), many: Array(10_000).fill(1), big: 2n ** 70n },
    "m",
  );
  assert.ok((lines[0]?.length ?? 0) < 10_000);
  assert.partialDeepStrictEqual(last(), {
    circle: { self: "[circular]" },
    bytes: "[10 bytes]",
    big: String(2n ** 70n),
  });
});

test("the level decides what is written", () => {
  const quiet = room("json", "warn");
  quiet.log.debug({}, "no");
  quiet.log.info({}, "no");
  quiet.log.warn({}, "yes");
  assert.equal(quiet.lines.length, 1);
  const silent = room("json", "silent");
  silent.log.error({}, "no");
  assert.equal(silent.lines.length, 0);
});

test("a terminal gets short readable lines, a pipe JSON, unless the format is given", () => {
  const pretty = room("auto", "info", true);
  pretty.log.warn({ connection: "tracker", token: "hunter2", error: new Error("why") }, "failed");
  const [line = "", ...stack] = (pretty.lines[0] ?? "").split("\n");
  assert.match(line, /^\d\d:\d\d:\d\d warn {2}failed connection=tracker token=\[redacted\]$/);
  assert.equal(stack[0], "Error: why");
  const piped = room("auto", "info", false);
  piped.log.info({}, "m");
  assert.equal(piped.last()["msg"], "m");
  const forced = room("pretty", "info", false);
  forced.log.info({}, "m");
  assert.match(forced.lines[0] ?? "", /^\d\d:\d\d:\d\d info {2}m\n$/);
});
