/** Fifty identical calls with one approval run once: in one process, and in two on one database. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { ApprovalProcess } from "./fixtures/approval-process.ts";
import { textOf } from "./fixtures/clients.ts";
import { databases } from "./fixtures/databases.ts";
import { signedInAdmin } from "./fixtures/page-visitor.ts";
import { startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";
import { plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

const SCRIPT = fileURLToPath(new URL("./fixtures/approval-process.ts", import.meta.url));
type Result = Record<string, unknown>;

for (const database of databases) {
  describe(`on ${database.name}`, { skip: database.skip }, () => {
    it("by its id and by name, in one process", async (t) => {
      const room = await open(t);
      for (const by of ["id", "name"] as const) {
        const { params } = await room.approved(by, `one process, by ${by}`);
        const before = room.calls.length;
        const answers = await Promise.all(Array.from({ length: 50 }, () => room.call(params)));
        assertOnce(answers, by);
        assert.equal(room.calls.length - before, 1);
      }
    });

    it("by its id and by name, in two processes", async (t) => {
      const room = await open(t);
      for (const by of ["id", "name"] as const) {
        const { params } = await room.approved(by, `two processes, by ${by}`);
        const before = room.calls.length;
        const other = await secondProcess(t, { env: room.env, token: room.token, params, calls: 25 });
        const [here, there] = await Promise.all([
          Promise.all(Array.from({ length: 25 }, () => room.call(params))),
          other.begin(),
        ]);
        assertOnce([...here, ...there], by);
        assert.equal(room.calls.length - before, 1);
      }
    });
  });

  async function open(t: TestContext) {
    const place = await database.place(t);
    const upstream = await startPlainUpstream([plainTool("send_mail")]);
    t.after(() => upstream.close());
    const shared = {
      JACKFIELD_MASTER_KEY: randomBytes(32).toString("base64"),
      ...(place.url === undefined ? {} : { DATABASE_URL: place.url }),
    };
    const access = { write: { tools: ["*"], approval: "always" } };
    const product = await startProduct({
      connections: { mail: { type: "mcp", url: upstream.url, auth: { method: "none" }, access } },
      env: shared,
    });
    t.after(() => product[Symbol.asyncDispose]());
    const admin = await signedInAdmin(product);
    const token = await product.token();
    const call = async (params: Result): Promise<Result> =>
      (await postModern(product.url, token, "tools/call", params)).message.result;
    return {
      token,
      call,
      calls: upstream.calls,
      env: {
        ...shared,
        JACKFIELD_DATA_DIR: `${product.directory}/data`,
        JACKFIELD_CONFIG_DIR: `${product.directory}/config`,
        JACKFIELD_PORT: "0",
        JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback",
        JACKFIELD_LOG: "silent",
      },
      async approved(by: "id" | "name", text: string) {
        const named = { name: "mail__send_mail", arguments: { text } };
        const proposed = await call(named);
        const { approval } = proposed["structuredContent"] as { approval: { id: string } };
        await admin.get(`/approvals/${approval.id}`);
        const sent = await admin.post(`/approvals/${approval.id}`, { decision: "approve" });
        assert.equal(sent.location, `/approvals/${approval.id}`, sent.text);
        return { params: by === "name" ? named : { name: "tool_write", arguments: { approval: approval.id } } };
      },
    };
  }
}

function assertOnce(answers: Result[], by: "id" | "name"): void {
  assert.equal(answers.length, 50);
  const ran = answers.filter((answer) => textOf(answer) === "send_mail");
  assert.equal(ran.length, 1, answers.map(textOf).join("\n"));
  const codes = answers
    .filter((answer) => !ran.includes(answer))
    .map(({ _meta }) => (_meta as { "jackfield/error": { code: string } })["jackfield/error"].code);
  assert.deepEqual(new Set(codes), new Set([by === "id" ? "approval_used" : "approval_required"]));
}

async function secondProcess(t: TestContext, task: ApprovalProcess) {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(task)], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, "ready");
  return {
    async begin(): Promise<Result[]> {
      child.stdin.write("go\n");
      return JSON.parse(String((await lines.next()).value));
    },
  };
}
