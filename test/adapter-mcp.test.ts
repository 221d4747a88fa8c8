import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { mcpAdapter } from "../adapters/mcp/index.ts";
import { adapterContract, testContext } from "./contract/adapter.ts";
import type { Diary } from "./fixtures/upstreams/behaviour.ts";
import { startLegacyUpstream } from "./fixtures/upstreams/legacy.ts";
import type { Listening } from "./fixtures/upstreams/listen.ts";
import { startModernUpstream } from "./fixtures/upstreams/modern.ts";
import { startSseUpstream } from "./fixtures/upstreams/sse.ts";

const STDIO = fileURLToPath(new URL("./fixtures/upstreams/stdio-server.ts", import.meta.url));

const echo = { action: "echo", args: (text: string) => ({ text }) };
const fail = { action: "fail", says: /disk is full/ };
const count = { action: "count", args: { to: 3 } };

function overHttp(start: () => Promise<Listening & { diary: Diary }>) {
  return async () => {
    const upstream = await start();
    const events = new EventEmitter();
    upstream.diary.onCancelled = () => void events.emit("cancelled");
    return {
      context: testContext({ url: upstream.url }),
      echo,
      fail,
      count,
      wait: { action: "wait", cancelled: () => once(events, "cancelled") },
      stop: () => upstream.close(),
    };
  };
}

function overStdio(era: string) {
  return async () => ({
    context: testContext({ command: [process.execPath, STDIO, "--era", era] }),
    echo,
    fail,
    count,
    // What the child wrote down stays in the child; that it answers afterwards is checked by the suite.
    wait: { action: "wait", cancelled: async () => undefined },
    stop: async () => undefined,
  });
}

adapterContract("mcp, 2026-07-28 over HTTP", mcpAdapter, overHttp(startModernUpstream));
adapterContract("mcp, 2025-11-25 over HTTP", mcpAdapter, overHttp(startLegacyUpstream));
adapterContract("mcp, HTTP+SSE", mcpAdapter, overHttp(startSseUpstream));
adapterContract("mcp, 2025-11-25 over stdio", mcpAdapter, overStdio("legacy"));
adapterContract("mcp, 2026-07-28 over stdio", mcpAdapter, overStdio("modern"));
