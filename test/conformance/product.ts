/** Starts the server as an operator would, with one transparent connection to the conformance upstream. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runProcess, startProcess } from "./processes.ts";

const MAIN = fileURLToPath(new URL("../../server/main.ts", import.meta.url));
const START_LIMIT_MS = 60_000;
const COMMAND_LIMIT_MS = 30_000;

/** A running server: the URL of its transparent endpoint and a token for it. */
export interface Product {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

function connectionFile(upstreamUrl: string): string {
  return `version: 1
connection:
  type: mcp
  label: Conformance
  description: The upstream of the conformance run.
  url: ${upstreamUrl}
  auth: { method: none }
  asks: all
  access:
    read: { tools: ["*"] }
    write: { tools: ["test_trigger_*"] }
    resources: ["*"]
    prompts: ["*"]
`;
}

const ENDPOINT_FILE = `version: 1
endpoint:
  label: Conformance
  discovery: transparent
  connection: conformance
`;

/**
 * Starts the server on a free port with fresh directories under `dir` and waits until the endpoint lists the
 * upstream's tools. Rejects, with what the server wrote, where that takes longer than a minute.
 */
export async function startProduct(upstreamUrl: string, dir: string, signal: AbortSignal): Promise<Product> {
  const configDir = join(dir, "config");
  await mkdir(join(configDir, "connections"), { recursive: true });
  await mkdir(join(configDir, "endpoints"), { recursive: true });
  await writeFile(join(configDir, "connections", "conformance.yml"), connectionFile(upstreamUrl));
  await writeFile(join(configDir, "endpoints", "conformance.yml"), ENDPOINT_FILE);

  const port = await freePort();
  const env = {
    ...process.env,
    JACKFIELD_HOST: "127.0.0.1",
    JACKFIELD_PORT: String(port),
    JACKFIELD_DATA_DIR: join(dir, "data"),
    JACKFIELD_CONFIG_DIR: configDir,
    JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback",
  };
  const logFile = join(dir, "server.txt");
  const { stop, closed } = startProcess(process.execPath, [MAIN, "serve"], { env, logFile, signal });
  let ended = false;
  closed
    .catch(() => null)
    .finally(() => {
      ended = true;
    });

  const waitFor = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
    const deadline = Date.now() + START_LIMIT_MS;
    while (!(await holds().catch(() => false))) {
      if (ended) throw new Error(`The server ended before ${what}:\n${await lastLines(logFile)}`);
      if (Date.now() > deadline) throw new Error(`No ${what} within a minute:\n${await lastLines(logFile)}`);
      await delay(100, undefined, { signal });
    }
  };

  try {
    const origin = `http://127.0.0.1:${port}`;
    await waitFor("readiness", async () => (await fetch(`${origin}/ready`, { signal })).ok);
    const args = ["token", "create", "--name", "conformance", "--endpoint", "conformance"];
    const created = await runProcess(process.execPath, [MAIN, ...args, "--scopes", "mcp:read,mcp:write", "--json"], {
      env,
      logFile: join(dir, "token.txt"),
      signal,
      limitMs: COMMAND_LIMIT_MS,
    });
    if (created.code !== 0) {
      throw new Error(`token create ended with code ${created.code}:\n${await lastLines(join(dir, "token.txt"))}`);
    }
    const { token } = JSON.parse(created.stdout) as { token: string };
    const url = `${origin}/mcp/conformance`;
    await waitFor("list of tools", () => listsTools(url, token, signal));
    return { url, token, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Whether the endpoint lists any tool yet: connections load after the start. */
async function listsTools(url: string, token: string, signal: AbortSignal): Promise<boolean> {
  const protocolVersion = "2026-07-28";
  const response = await fetch(url, {
    method: "POST",
    signal,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": protocolVersion,
      "mcp-method": "tools/list",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/list",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": protocolVersion,
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });
  return response.ok && (await response.text()).includes('"test_simple_text"');
}

/** The end of a log, enough to see why a process ended. */
async function lastLines(file: string): Promise<string> {
  return (await readFile(file, "utf8")).split("\n").slice(-20).join("\n");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === "string") throw new Error("No free port on loopback");
  return address.port;
}
