import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, test } from "node:test";
import { readConfig } from "../server/config.ts";
import type { Resolver } from "../server/egress/agent.ts";
import { createEgress, type Egress } from "../server/egress/fetch.ts";
import { type DiscoveryOptions, discover } from "../server/signin/discovery.ts";
import { exchangeCode } from "../server/signin/exchange.ts";
import { SignInProblem } from "../server/signin/problem.ts";
import { registerAt } from "../server/signin/registration.ts";
import { revokeToken, TokenError } from "../server/signin/token-request.ts";
import { type Documents, serveDocuments, serverMetadata } from "./fixtures/named-documents.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const AS = "/.well-known/oauth-authorization-server";
const OIDC = "/.well-known/openid-configuration";
const openedRanges = readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback" }).allowPrivateUpstreams;
const oidc = {
  jwks_uri: "https://as.example/jwks",
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
};

const problemOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof SignInProblem) return error.code;
    throw error;
  }
  return "none";
};

describe("where a connection's accounts come from", () => {
  let documents: Documents;
  let egress: Egress;
  let options: DiscoveryOptions;
  beforeEach(async () => {
    documents = await serveDocuments();
    egress = createEgress({ allow: openedRanges, closed: () => [] });
    options = {
      upstream: egress.upstreamFetch,
      named: await egress.namedBy(new URL(documents.url)),
      allowsLoopback: true,
    };
  });
  afterEach(async () => {
    await egress.close();
    await documents.close();
  });
  const resource = (more: object = {}) => ({
    resource: documents.url,
    authorization_servers: [documents.origin],
    ...more,
  });

  test("the challenge names the metadata, wherever it lies, and the scopes", async () => {
    documents.challenge = `Bearer scope="a b", resource_metadata="${documents.origin}/odd/place"`;
    documents.at.set("/odd/place", resource({ scopes_supported: ["x"] })).set(AS, serverMetadata(documents.origin));
    const found = await discover(documents.url, options);
    assert.equal(found.server.issuer, documents.origin);
    assert.equal(found.challengedScopes, "a b");
    assert.deepEqual(found.resourceScopes, ["x"]);
    assert.deepEqual(documents.paths(), ["/mcp", "/odd/place", AS]);
  });

  test("without a challenge it lies below the path, else at the root", async () => {
    documents.at.set(`${WELL_KNOWN}/mcp`, resource()).set(AS, serverMetadata(documents.origin));
    assert.equal((await discover(documents.url, options)).resource, documents.url);
    documents.at.delete(`${WELL_KNOWN}/mcp`);
    documents.at.set(WELL_KNOWN, resource({ resource: documents.origin }));
    assert.equal((await discover(documents.url, options)).resource, documents.origin);
  });

  test("a challenge that leads nowhere falls back to the well-known places", async () => {
    documents.challenge = `Bearer resource_metadata="${documents.origin}/gone"`;
    documents.at.set(`${WELL_KNOWN}/mcp`, resource()).set(AS, serverMetadata(documents.origin));
    assert.equal((await discover(documents.url, options)).resource, documents.url);
    assert.deepEqual(documents.paths(), ["/mcp", "/gone", `${WELL_KNOWN}/mcp`, AS]);
  });

  for (const [name, path, more] of [
    ["RFC 8414 with the issuer's path inserted", `${AS}/tenant`, {}],
    ["OpenID with the path inserted", `${OIDC}/tenant`, oidc],
    ["OpenID with the path in front", `/tenant${OIDC}`, oidc],
  ] as const) {
    test(`the authorization server's document is found: ${name}`, async () => {
      const issuer = `${documents.origin}/tenant`;
      documents.at
        .set(`${WELL_KNOWN}/mcp`, resource({ authorization_servers: [issuer] }))
        .set(path, serverMetadata(issuer, more));
      const { server } = await discover(documents.url, options);
      assert.equal(server.issuer, issuer);
      assert.equal(server.metadata.token_endpoint, `${issuer}/token`);
    });
  }

  test("an old server without resource metadata is its own authorization server", async () => {
    documents.at.set(AS, serverMetadata(documents.origin, { scopes_supported: ["a"] }));
    const found = await discover(documents.url, options);
    assert.equal(found.server.issuer, documents.origin);
    assert.equal(found.resource, documents.url);
  });

  test("one without any metadata has the default endpoints of 2025-03-26", async () => {
    const { server } = await discover(documents.url, options);
    assert.equal(server.metadata.authorization_endpoint, `${documents.origin}/authorize`);
    assert.equal(server.metadata.token_endpoint, `${documents.origin}/token`);
    assert.equal(server.metadata.registration_endpoint, `${documents.origin}/register`);
  });

  test("`resource` is taken as it is spelled, and must be the connection's URL or hold it", async () => {
    documents.at.set(AS, serverMetadata(documents.origin));
    for (const good of [documents.origin, `${documents.origin}/`, documents.url, `${documents.url}/`]) {
      documents.at.set(`${WELL_KNOWN}/mcp`, resource({ resource: good }));
      if (good.endsWith("/mcp/")) {
        // Longer than the connection's own path: another resource.
        assert.equal(await problemOf(discover(documents.url, options)), "resource_mismatch");
      } else assert.equal((await discover(documents.url, options)).resource, good);
    }
    for (const wrong of ["https://evil.example/mcp", `${documents.origin}/other`, `${documents.origin}/mc`]) {
      documents.at.set(`${WELL_KNOWN}/mcp`, resource({ resource: wrong }));
      assert.equal(await problemOf(discover(documents.url, options)), "resource_mismatch", wrong);
    }
  });

  test("the issuer must be the same to the byte", async () => {
    const { origin } = documents;
    documents.at.set(`${WELL_KNOWN}/mcp`, resource());
    for (const issuer of [`${origin}/`, origin.toUpperCase(), "https://other.example"]) {
      documents.at.set(AS, serverMetadata(issuer));
      assert.equal(await problemOf(discover(documents.url, options)), "issuer_mismatch", issuer);
    }
    // The SDK would let this pass.
    documents.at.set(`${WELL_KNOWN}/mcp`, resource({ authorization_servers: [`${origin}/`] }));
    documents.at.set(AS, serverMetadata(origin));
    assert.equal(await problemOf(discover(documents.url, options)), "issuer_mismatch");
  });

  test("a server that does not announce S256 is not signed in to", async () => {
    documents.at.set(`${WELL_KNOWN}/mcp`, resource());
    for (const methods of [undefined, [], ["plain"]]) {
      documents.at.set(AS, serverMetadata(documents.origin, { code_challenge_methods_supported: methods }));
      assert.equal(await problemOf(discover(documents.url, options)), "pkce_unsupported");
    }
  });

  test("an authorization server that was named and publishes nothing is no reason to guess", async () => {
    documents.at.set(`${WELL_KNOWN}/mcp`, resource({ authorization_servers: [`${documents.origin}/tenant`] }));
    assert.equal(await problemOf(discover(documents.url, options)), "metadata_unusable");
    documents.at.set(`${AS}/tenant`, "this is not JSON");
    assert.equal(await problemOf(discover(documents.url, options)), "metadata_unusable");
  });

  test("endpoints over plain http are refused, but for loopback where it is open", async () => {
    documents.at.set(`${WELL_KNOWN}/mcp`, resource());
    for (const name of ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"]) {
      for (const url of ["http://as.example/x", "http://user:password@127.0.0.1/x"]) {
        documents.at.set(AS, serverMetadata(documents.origin, { [name]: url }));
        assert.equal(await problemOf(discover(documents.url, options)), "insecure_endpoint", `${name} ${url}`);
      }
    }
    documents.at.set(AS, serverMetadata(documents.origin));
    assert.equal(await problemOf(discover(documents.url, { ...options, allowsLoopback: false })), "insecure_endpoint");
  });

  test("a service that cannot be reached is told so", async () => {
    assert.equal(await problemOf(discover("http://127.0.0.1:1/mcp", options)), "unreachable");
  });
});

/** A connection at a public address; the documents at public addresses are answered here, the rest goes to egress. */
describe("what a public service names inside", () => {
  const PUBLIC = "https://mcp.public.example";
  const SERVER = "https://as.public.example";
  let inside: { port: number; connections: () => number; close(): Promise<void> };
  let egress: Egress;
  let answers: Map<string, object | { redirect: string }>;
  let options: DiscoveryOptions;
  let challenge: string | undefined;

  beforeEach(async () => {
    let count = 0;
    const listener = createServer((socket) => {
      count += 1;
      socket.destroy();
    });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const address = listener.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    inside = {
      port: address.port,
      connections: () => count,
      async close() {
        listener.close();
        await once(listener, "close");
      },
    };
    let asked = 0;
    const resolver: Resolver = async (hostname) => {
      const at = (address: string, family: 4 | 6 = 4) => [{ address, family }];
      if (hostname.endsWith(".public.example")) return at("93.184.216.34");
      if (hostname === "mixed.example") return [...at("93.184.216.34"), ...at("127.0.0.1")];
      if (hostname === "rebinding.example") return at(asked++ === 0 ? "10.0.0.7" : "127.0.0.1");
      if (hostname === "six.example") return at("::1", 6);
      return at("127.0.0.1");
    };
    // Loopback is open to connections; a public one may not use that.
    egress = createEgress({ allow: openedRanges, closed: () => [], resolver });
    answers = new Map();
    challenge = undefined;
    const guarded = await egress.namedBy(new URL(`${PUBLIC}/mcp`));
    const answer = (url: string): Response | undefined => {
      if (!new URL(url).hostname.endsWith(".public.example")) return undefined;
      const found = answers.get(url);
      if (!found) return new Response(null, { status: 404 });
      if ("redirect" in found)
        return new Response(null, { status: 307, headers: { location: String(found.redirect) } });
      return Response.json(found);
    };
    options = {
      upstream: async () =>
        new Response(null, { status: 401, headers: challenge === undefined ? {} : { "www-authenticate": challenge } }),
      named: async (input, init) => answer(String(input)) ?? guarded(input, init),
      allowsLoopback: false,
    };
  });
  afterEach(async () => {
    await egress.close();
    await inside.close();
  });

  const resource = (issuer: string) => ({ resource: `${PUBLIC}/mcp`, authorization_servers: [issuer] });
  const client = { clientId: "client", method: "none" as const };
  const flow = (tokenEndpoint: string) => ({
    principal: { key: "0".repeat(64), issuer: "", subject: "" },
    verifier: "v".repeat(43),
    authorizationUrl: `${SERVER}/authorize`,
    issuer: SERVER,
    namesItself: false,
    tokenEndpoint,
    registrationId: "r",
    boundResource: `${PUBLIC}/mcp`,
    scopes: [],
  });
  const registrations = {
    find: async () => ({
      id: "r",
      organizationId: "o",
      issuer: SERVER,
      redirectUri: "https://jackfield.example/connections/callback",
      kind: "cimd" as const,
      clientId: "client",
      sealedSecret: null,
      tokenEndpointAuthMethod: "none" as const,
      metadata: null,
      createdAt: new Date(0),
    }),
    secret: async () => undefined,
    drop: async () => undefined,
  };
  const redeem = (tokenEndpoint: string) =>
    exchangeCode(
      registrations,
      {
        connection: { label: "Tracker" },
        flow: flow(tokenEndpoint),
        code: "secret-code",
        redirectUri: "https://jackfield.example/connections/callback",
      },
      options.named,
    );

  const hosts = (port: number): string[] => [
    `https://127.0.0.1:${port}`,
    `https://localhost:${port}`,
    `https://inside.example:${port}`,
    `https://mixed.example:${port}`,
    `https://rebinding.example:${port}`,
    `https://six.example:${port}`,
    `https://2130706433:${port}`,
    `https://0x7f.1:${port}`,
    `https://127.1:${port}`,
    `https://[::1]:${port}`,
    `https://[::ffff:127.0.0.1]:${port}`,
    `http://127.0.0.1:${port}`,
    `http://inside.example:${port}`,
  ];

  test("resource metadata at any of these addresses makes no connection", async () => {
    for (const host of hosts(inside.port)) {
      challenge = `Bearer resource_metadata="${host}/metadata"`;
      assert.equal(await problemOf(discover(`${PUBLIC}/mcp`, options)), "blocked_address", host);
    }
    assert.equal(inside.connections(), 0);
  });

  test("an authorization server at any of these addresses makes no connection", async () => {
    for (const host of hosts(inside.port)) {
      answers.set(`${PUBLIC}${WELL_KNOWN}/mcp`, resource(host));
      const code = await problemOf(discover(`${PUBLIC}/mcp`, options));
      assert.equal(code, host.startsWith("http:") ? "insecure_endpoint" : "blocked_address", host);
    }
    assert.equal(inside.connections(), 0);
  });

  test("documents that redirect inside are not followed", async () => {
    for (const host of hosts(inside.port)) {
      answers.set(`${PUBLIC}${WELL_KNOWN}/mcp`, resource(SERVER));
      answers.set(`${SERVER}${AS}`, { redirect: `${host}/metadata` });
      assert.equal(await problemOf(discover(`${PUBLIC}/mcp`, options)), "metadata_unusable", host);
      // As if it were not there: the service is taken for an old one, at its own origin.
      answers.set(`${PUBLIC}${WELL_KNOWN}/mcp`, { redirect: `${host}/metadata` });
      const { server } = await discover(`${PUBLIC}/mcp`, options);
      assert.equal(server.issuer, PUBLIC);
    }
    assert.equal(inside.connections(), 0);
  });

  test("registration, token and revocation endpoints inside make no connection", async () => {
    for (const host of hosts(inside.port).filter((host) => host.startsWith("https:"))) {
      answers.set(`${PUBLIC}${WELL_KNOWN}/mcp`, resource(SERVER));
      const endpoints = {
        registration_endpoint: `${host}/register`,
        token_endpoint: `${host}/token`,
        revocation_endpoint: `${host}/revoke`,
      };
      answers.set(`${SERVER}${AS}`, serverMetadata(SERVER, endpoints));
      const { server } = await discover(`${PUBLIC}/mcp`, options);
      const redirect = "https://jackfield.example/connections/callback";
      const registering = registerAt(server, "https://jackfield.example", redirect, options.named);
      assert.equal(await problemOf(registering), "blocked_address", host);
      assert.equal(await problemOf(redeem(endpoints.token_endpoint)), "blocked_address", host);
      const revoking = { endpoint: endpoints.revocation_endpoint, client, fetch: options.named, clock: Date.now };
      await assert.rejects(revokeToken(revoking, "token", "access_token"), TokenError);
    }
    assert.equal(inside.connections(), 0);
  });

  test("a token endpoint that redirects inside gets the code, and nobody else does", async () => {
    for (const host of hosts(inside.port)) {
      answers.set(`${SERVER}/token`, { redirect: `${host}/token` });
      assert.equal(await problemOf(redeem(`${SERVER}/token`)), "token_unreachable", host);
    }
    assert.equal(inside.connections(), 0);
  });
});
