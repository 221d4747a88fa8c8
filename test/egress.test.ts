import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { readConfig } from "../server/config.ts";
import type { Resolver } from "../server/egress/agent.ts";
import { createEgress, type Egress, refusalOf } from "../server/egress/fetch.ts";
import { JackfieldError } from "../server/errors.ts";

/** Ranges as the operator writes them. */
const ranges = (...words: string[]) =>
  readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: words.join(",") }).allowPrivateUpstreams;

/** A listener that counts connections, not requests: a refused address must not even be dialled. */
async function listen(handler: RequestListener, host = "127.0.0.1") {
  const server = createServer(handler);
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { server, port, url: `http://${host}:${port}`, connections: () => connections };
}

const stop = (server: Server) =>
  new Promise<void>((resolve) => {
    server.closeAllConnections();
    server.close(() => resolve());
  });

const codeOf = async (work: Promise<unknown>): Promise<string | undefined> => {
  try {
    await work;
  } catch (error) {
    return refusalOf(error) ?? `other: ${String(error)}`;
  }
  return "no error";
};

const names =
  (answers: Record<string, string[]>): Resolver =>
  async (hostname) =>
    (answers[hostname] ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

describe("what egress refuses", () => {
  let inside: Awaited<ReturnType<typeof listen>>;
  let strict: Egress;
  let opened: Egress;
  before(async () => {
    inside = await listen((_request, response) => response.end("secret"));
    const resolver = names({
      "inside.example": ["127.0.0.1"],
      "mixed.example": ["93.184.216.34", "10.0.0.1"],
      "metadata.example": ["169.254.169.254"],
      "six.example": ["::1"],
      "mapped.example": ["::ffff:127.0.0.1"],
      "nat64.example": ["64:ff9b::7f00:1"],
    });
    strict = createEgress({ allow: [], closed: () => [], resolver });
    opened = createEgress({ allow: ranges("loopback", "0.0.0.0/0", "::/0"), closed: () => [], resolver });
  });
  after(async () => {
    await Promise.all([strict.close(), opened.close(), stop(inside.server)]);
  });

  const hosts = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7f.0x0.0x0.0x1",
    "0177.0.0.1",
    "017700000001",
    "127.255.255.254",
    "0.0.0.0",
    "0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "0xa9fea9fe",
    "198.18.0.1",
    "192.0.2.1",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "[fe80::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fec0::1]",
    "[ff02::1]",
    "inside.example",
    "mixed.example",
    "metadata.example",
    "six.example",
    "mapped.example",
    "nat64.example",
    "１２７.０.０.１",
    "①②⑦.0.0.1",
  ];
  for (const host of hosts) {
    test(`${host} is refused without a connection`, async () => {
      for (const scheme of ["https", "http"]) {
        const url = `${scheme}://${host}:${inside.port}/`;
        assert.equal(await codeOf(strict.upstreamFetch(url)), "blocked_address", url);
        assert.equal(await codeOf(strict.strangerFetch(url)), "blocked_address", url);
      }
      assert.equal(inside.connections(), 0);
    });
  }

  test("a literal handed straight to the dispatcher is refused too", async () => {
    const dispatched = new Promise((_resolve, reject) => {
      try {
        strict.dispatcher
          .request({ origin: `http://127.0.0.1:${inside.port}`, path: "/", method: "GET" })
          .catch(reject);
      } catch (error) {
        reject(error);
      }
    });
    assert.equal(await codeOf(dispatched), "blocked_address");
    assert.equal(inside.connections(), 0);
  });

  test("user names, passwords and other schemes are refused even where the address is open", async () => {
    for (const url of [
      `http://user@127.0.0.1:${inside.port}/`,
      `http://user:pass@127.0.0.1:${inside.port}/`,
      "ftp://127.0.0.1/",
      "file:///etc/passwd",
      "data:text/plain,hello",
    ])
      assert.equal(await codeOf(opened.upstreamFetch(url)), "blocked_address", url);
    assert.equal(inside.connections(), 0);
  });

  test("link-local, metadata and multicast stay closed whatever the operator opens", async () => {
    for (const host of ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "100.100.100.200", "224.0.0.1", "0.0.0.0"])
      assert.equal(await codeOf(opened.upstreamFetch(`http://${host}/`)), "blocked_address", host);
  });

  test("what strangers name stays outside even where upstreams may go inside", async () => {
    assert.equal(await codeOf(opened.strangerFetch(`http://127.0.0.1:${inside.port}/`)), "blocked_address");
    assert.equal(await codeOf(opened.strangerFetch(`https://127.0.0.1:${inside.port}/`)), "blocked_address");
    assert.equal(inside.connections(), 0);
  });
});

test("a name that changes its address between two lookups is refused at the second", async () => {
  const inside = await listen((_request, response) => response.end("secret"));
  let asked = 0;
  const resolver: Resolver = async () => {
    asked += 1;
    return [{ address: asked === 1 ? "127.0.0.1" : "10.1.2.3", family: 4 }];
  };
  const egress = createEgress({ allow: ranges("loopback"), closed: () => [], resolver });
  const first = await egress.upstreamFetch(`http://rebind.example:${inside.port}/`);
  assert.equal(await first.text(), "secret");
  inside.server.closeAllConnections();
  assert.equal(await codeOf(egress.upstreamFetch(`http://rebind.example:${inside.port}/x`)), "blocked_address");
  assert.equal(inside.connections(), 1);
  await egress.close();
  await stop(inside.server);
});

test("the socket goes to the address that was checked, not to a second lookup", async () => {
  const inside = await listen((request, response) => response.end(request.headers.host));
  let asked = 0;
  const resolver: Resolver = async () => {
    asked += 1;
    return [{ address: "127.0.0.1", family: 4 }];
  };
  const egress = createEgress({ allow: ranges("loopback"), closed: () => [], resolver });
  const response = await egress.upstreamFetch(`http://name.invalid:${inside.port}/`);
  assert.equal(await response.text(), `name.invalid:${inside.port}`);
  assert.equal(asked, 1);
  await egress.close();
  await stop(inside.server);
});

test("our own listeners are a loop, the database is closed, also through a wildcard and IPv4 in IPv6", async () => {
  const own = await listen((_request, response) => response.end("own"));
  const database = await listen((_request, response) => response.end("database"));
  const egress = createEgress({
    allow: ranges("loopback"),
    closed: () => [
      { host: "0.0.0.0", port: own.port, own: true },
      { host: "127.0.0.1", port: database.port },
    ],
  });
  assert.equal(await codeOf(egress.upstreamFetch(own.url)), "loop_detected");
  assert.equal(await codeOf(egress.upstreamFetch(`http://[::ffff:127.0.0.1]:${own.port}/`)), "loop_detected");
  assert.equal(await codeOf(egress.upstreamFetch(`http://localhost:${own.port}/`)), "loop_detected");
  assert.equal(await codeOf(egress.upstreamFetch(database.url)), "blocked_address");
  assert.equal(own.connections() + database.connections(), 0);
  await egress.close();
  await Promise.all([stop(own.server), stop(database.server)]);
});

describe("redirects", () => {
  const seen: IncomingMessage[] = [];
  let target: Awaited<ReturnType<typeof listen>>;
  let source: Awaited<ReturnType<typeof listen>>;
  let egress: Egress;
  before(async () => {
    target = await listen((request, response) => {
      seen.push(request);
      response.end("arrived");
    });
    source = await listen((request, response) => {
      const url = new URL(request.url ?? "/", "http://x");
      if (url.pathname === "/here") {
        seen.push(request);
        response.end("same");
        return;
      }
      response.writeHead(Number(url.searchParams.get("status")), { location: url.searchParams.get("to") ?? "" }).end();
    });
    egress = createEgress({ allow: ranges("127.0.0.1"), closed: () => [], keepAcrossOrigins: ["x-hop"] });
  });
  after(async () => {
    await egress.close();
    await Promise.all([stop(target.server), stop(source.server)]);
  });
  const via = (to: string, status: number) => `${source.url}/?status=${status}&to=${encodeURIComponent(to)}`;
  const headers = {
    authorization: "Bearer s3cret",
    cookie: "a=b",
    "x-api-key": "s3cret",
    "mcp-session-id": "s3cret",
    "x-hop": "1",
    accept: "application/json",
  };

  test("credentials of every name are dropped across origins, the hop header stays", async () => {
    const response = await egress.upstreamFetch(via(target.url, 307), { method: "POST", headers, body: "{}" });
    assert.equal(await response.text(), "arrived");
    assert.equal(response.url, `${target.url}/`);
    const request = seen.pop();
    assert.equal(request?.method, "POST");
    assert.equal(request?.headers["x-hop"], "1");
    assert.equal(request?.headers["accept"], "application/json");
    assert.ok(!JSON.stringify(request?.headers).includes("s3cret"));
    assert.equal(request?.headers["cookie"], undefined);
  });

  test("within an origin the credential goes along, and 303 turns a POST into a GET", async () => {
    const response = await egress.upstreamFetch(via("/here", 303), { method: "POST", headers, body: "{}" });
    assert.equal(await response.text(), "same");
    const request = seen.pop();
    assert.equal(request?.method, "GET");
    assert.equal(request?.headers["authorization"], "Bearer s3cret");
    assert.equal(request?.headers["content-length"], undefined);
  });

  test("each hop is checked: a redirect to a closed address is refused", async () => {
    for (const to of ["http://127.0.0.2/", "http://[::1]/", "http://169.254.169.254/latest", "http://10.0.0.1/"])
      assert.equal(await codeOf(egress.upstreamFetch(via(to, 302))), "blocked_address", to);
    assert.equal(await codeOf(egress.upstreamFetch(via("file:///etc/passwd", 302))), "blocked_address");
    assert.equal(await codeOf(egress.upstreamFetch(via("http://a:b@127.0.0.1/", 302))), "blocked_address");
  });

  test("a circle ends", async () => {
    const circle = await listen((_request, response) => response.writeHead(302, { location: "/again" }).end());
    await assert.rejects(egress.upstreamFetch(circle.url), /more than 5 redirects/);
    await stop(circle.server);
  });
});

describe("bodies", () => {
  let server: Awaited<ReturnType<typeof listen>>;
  let egress: Egress;
  before(async () => {
    server = await listen((request, response) => {
      if (request.url === "/gzip") {
        response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
        response.end(gzipSync('{"ok":true}'));
      } else if (request.url === "/bomb") {
        response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(64 * 1024 * 1024)));
      } else if (request.url === "/events") {
        response.writeHead(200, { "content-type": "text/event-stream" }).write("data: one\n\n");
        request.on("close", () => server.server.emit("left"));
      } else if (request.url === "/endless-event") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const chunk = Buffer.alloc(1024 * 1024, 120);
        const more = () => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on("drain", more);
        more();
      } else {
        response.writeHead(204).end();
      }
    });
    egress = createEgress({ allow: ranges("loopback"), closed: () => [] });
  });
  after(async () => {
    await egress.close();
    await stop(server.server);
  });

  test("gzip is undone, and a bomb stops at the cap", async () => {
    const response = await egress.upstreamFetch(`${server.url}/gzip`);
    assert.deepEqual(await response.json(), { ok: true });
    await assert.rejects(egress.upstreamFetch(`${server.url}/bomb`), isTooLarge);
  });

  test("an answer without a body is an answer", async () => {
    const response = await egress.upstreamFetch(`${server.url}/`, { method: "DELETE" });
    assert.equal(response.status, 204);
    assert.equal(await response.text(), "");
  });

  test("an event stream arrives as it is sent, and aborting it closes the connection", async () => {
    const left = once(server.server, "left");
    const abort = new AbortController();
    const response = await egress.upstreamFetch(`${server.url}/events`, { signal: abort.signal });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    assert.equal(Buffer.from(first?.value ?? []).toString(), "data: one\n\n");
    abort.abort();
    await assert.rejects(async () => reader?.read());
    await left;
  });

  test("cancelling the body of an event stream closes the connection", async () => {
    const left = once(server.server, "left");
    const response = await egress.upstreamFetch(`${server.url}/events`);
    await response.body?.cancel();
    await left;
  });

  test("one event without an end is cut off", async () => {
    const response = await egress.upstreamFetch(`${server.url}/endless-event`);
    await assert.rejects(response.text(), isTooLarge);
  });

  test("a failure of the network is no refusal", async () => {
    const closed = await listen(() => {});
    await stop(closed.server);
    await assert.rejects(egress.upstreamFetch(closed.url), (error) => refusalOf(error) === undefined);
  });
});

function isTooLarge(error: unknown): boolean {
  return error instanceof JackfieldError && error.code === "result_too_large";
}

test("an entry of the operator's list that is no range is named", () => {
  assert.throws(() => createEgress({ allow: ranges("10.0.0.0/8", "nonsense"), closed: () => [] }), /"nonsense"/);
});
