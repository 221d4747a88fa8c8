/** The contract of adapters, for agents of both versions over both transports. */
import { a2aAdapter } from "../adapters/a2a/index.ts";
import { adapterContract, testContext } from "./contract/adapter.ts";
import { skill, startAgent, type TransportName, type Version } from "./fixtures/a2a/agent.ts";

const KINDS: readonly [Version, TransportName, boolean][] = [
  ["1.0", "jsonrpc", true],
  ["1.0", "rest", false],
  ["0.3", "jsonrpc", false],
  ["0.3", "rest", true],
];

for (const [version, transport, streaming] of KINDS) {
  adapterContract(`a2a ${version} over ${transport}${streaming ? ", streaming" : ""}`, a2aAdapter, async () => {
    const agent = await startAgent({ version, transport, streaming, skills: [skill("talk"), skill("echo")] });
    return {
      context: testContext({ card: agent.cardUrl }),
      echo: { action: "talk", args: (text) => ({ message: `echo ${text}` }) },
      wait: {
        action: "talk",
        args: { message: "nothing" },
        arrived: () => agent.script.next("message"),
        cancelled: () => agent.script.next("hung-up"),
      },
      fail: { action: "talk", args: { message: "fail" }, says: /The disk is full/ },
      count: { action: "talk", args: { message: "work" } },
      stop: () => agent.close(),
    };
  });
}
