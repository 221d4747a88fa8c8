/** A task that outlives the process through which it began. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startAgent } from "./fixtures/a2a/agent.ts";
import { connect, textOf } from "./fixtures/clients.ts";
import { run, runToEnd } from "./fixtures/command.ts";
import { temporaryDirectory } from "./fixtures/databases.ts";
import { writeConfig } from "./fixtures/product.ts";

async function serve(t: TestContext, env: Record<string, string>) {
  const server = run(["serve", "--json"], env);
  t.after(() => server.child.kill("SIGKILL"));
  const [line] = await server.saw(/^\{.*\}$/m);
  const { url }: { url: string } = JSON.parse(line);
  return { url, child: server.child };
}

test("a long task is begun through one process, followed after that one is killed, and finished through another", async (t) => {
  const agent = await startAgent();
  t.after(() => agent.close());
  const home = temporaryDirectory(t);
  const env = {
    JACKFIELD_DATA_DIR: join(home, "data"),
    JACKFIELD_CONFIG_DIR: join(home, "config"),
    JACKFIELD_PORT: "0",
    JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback",
    JACKFIELD_LOG: "silent",
  };
  const connection = { type: "a2a", card: agent.cardUrl, access: "suggested", wait: 1 };
  writeConfig(env.JACKFIELD_CONFIG_DIR, { connections: { slow: connection } });
  const first = await serve(t, env);
  const created = await runToEnd(["token", "create", "--name", "patient", "--json"], env);
  const { token }: { token: string } = JSON.parse(created.stdout);
  const client = await connect("v1", first.url, token);
  const begun = await client.callTool({ name: "slow__talk", arguments: { message: "hang" } });
  const { task, state } = Object(begun.structuredContent);
  assert.equal(state, "working", textOf(begun));
  first.child.kill("SIGKILL");
  await once(first.child, "close");
  assert.deepEqual(agent.script.canceled, []);
  const checked = await runToEnd(["connection", "check", "slow"], env);
  assert.match(checked.stdout, /^slow works\. Tester 1\.2\.3 \(A2A 1\.0 over JSON-RPC, card not signed\)/);

  const second = await serve(t, env);
  assert.notEqual(second.child.pid, first.child.pid);
  const again = await connect("v2-modern", second.url, token);
  const read = (name: string, args: object) =>
    again.callTool({ name: "tool_read", arguments: { name, arguments: { task, ...args } } });
  assert.equal(Object((await read("slow__task_status", {})).structuredContent).state, "working");
  const waiting = read("slow__task_result", { wait: 60 });
  agent.script.release("It was worth the wait.");
  assert.match(textOf(await waiting), /It was worth the wait\./);
  assert.equal(agent.script.messages.length, 1);
  await again.close();
});
