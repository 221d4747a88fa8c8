import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import ipaddr from "ipaddr.js";
import { readConfig } from "../server/config.ts";

const MASTER_KEY = "A".repeat(43);

function refusal(env: Record<string, string>, overrides = {}): string {
  let message = "";
  assert.throws(
    () => readConfig(env, overrides),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, "config_invalid");
      message = error.message;
      return true;
    },
  );
  assert.doesNotMatch(message, /\n/);
  return message;
}

test("without any variable everything is local: loopback, port 7420, SQLite and no Redis", () => {
  const config = readConfig({});
  assert.equal(config.host, "127.0.0.1");
  assert.equal(config.port, 7420);
  assert.equal(config.dataDir, resolve("data"));
  assert.equal(config.configDir, resolve("config"));
  assert.deepEqual(config.log, { level: "info", format: "auto" });
  assert.deepEqual([config.databaseUrl, config.redisUrl, config.publicUrl, config.masterKey], Array(4).fill(undefined));
  assert.deepEqual([config.allowPrivateUpstreams, config.trustedProxies], [[], []]);
});

test("every variable is read; blanks around a value and empty variables do not count", () => {
  const config = readConfig({
    JACKFIELD_HOST: " 0.0.0.0 ",
    JACKFIELD_PORT: "0",
    JACKFIELD_PUBLIC_URL: "https://mcp.example.com/",
    JACKFIELD_DATA_DIR: "/var/lib/jackfield",
    JACKFIELD_CONFIG_DIR: "",
    DATABASE_URL: "mysql://user:password@db.example:3306/jackfield",
    REDIS_URL: "rediss://cache.example:6379/2",
    JACKFIELD_MASTER_KEY: MASTER_KEY,
    JACKFIELD_LOG: "debug,json",
    JACKFIELD_TRUSTED_PROXIES: "loopback, 10.0.0.0/8 2001:db8::1",
    SOMETHING_ELSE: "ignored",
  });
  assert.equal(config.host, "0.0.0.0");
  assert.equal(config.port, 0);
  assert.equal(config.publicUrl, "https://mcp.example.com");
  assert.equal(config.dataDir, "/var/lib/jackfield");
  assert.equal(config.configDir, resolve("config"));
  assert.equal(config.databaseUrl, "mysql://user:password@db.example:3306/jackfield");
  assert.equal(config.redisUrl, "rediss://cache.example:6379/2");
  assert.equal(config.masterKey, MASTER_KEY);
  assert.deepEqual(config.log, { level: "debug", format: "json" });
  assert.deepEqual(config.trustedProxies, ["loopback", "10.0.0.0/8", "2001:db8::1"]);
});

test("private upstreams are a list of networks in which loopback means both kinds", () => {
  const { allowPrivateUpstreams } = readConfig({
    JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback, 10.20.0.0/16, fd00::5",
  });
  const allows = (text: string) => {
    const address = ipaddr.parse(text);
    return allowPrivateUpstreams.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  };
  for (const inside of ["127.0.0.1", "127.9.9.9", "::1", "10.20.255.1", "fd00::5"]) assert.ok(allows(inside), inside);
  for (const outside of ["10.21.0.1", "::2", "fd00::6", "192.168.0.1"]) assert.equal(allows(outside), false, outside);
});

test("flags win over the environment and are checked alike", () => {
  const env = { JACKFIELD_PORT: "1", JACKFIELD_DATA_DIR: "/a" };
  const config = readConfig(env, { port: "2", host: "::1", dataDir: "/b", configDir: "/c", log: "warn" });
  assert.deepEqual(
    [config.port, config.host, config.dataDir, config.configDir, config.log.level],
    [2, "::1", "/b", "/c", "warn"],
  );
  assert.match(refusal(env, { port: "x" }), /^JACKFIELD_PORT must be a port number/);
});

test("a wrong value is one line that names the variable and what it must be", () => {
  const wrong: [string, string[]][] = [
    ["JACKFIELD_PORT", ["x", "-1", "65536", "1.5", "0x50", "1e3"]],
    [
      "JACKFIELD_PUBLIC_URL",
      ["mcp.example.com", "ftp://a", "https://a/path", "https://u:p@a", "https://a/?q", "https://a/#f"],
    ],
    ["REDIS_URL", ["localhost:6379", "http://a"]],
    ["JACKFIELD_MASTER_KEY", ["short", "g".repeat(64), "A".repeat(44)]],
    ["JACKFIELD_LOG", ["loud", "info,yaml"]],
    ["JACKFIELD_ALLOW_PRIVATE_UPSTREAMS", ["10", "10.0.0.0/33", "private", "localhost", "loopback,*"]],
    ["JACKFIELD_TRUSTED_PROXIES", ["proxy.example", "true", "1"]],
    ["DATABASE_URL", ["postgres://a/b", "mysql://a", "sqlite:", "sqlite::memory:"]],
  ];
  for (const [name, values] of wrong) {
    for (const value of values) assert.match(refusal({ [name]: value }), new RegExp(`^${name} must be`), value);
  }
});

test("a value that may hold a secret is not repeated in the error", () => {
  const secret = "do-not-show-this";
  for (const [name, value] of [
    ["DATABASE_URL", `postgres://u:${secret}@h/d`],
    ["REDIS_URL", `http://:${secret}@h`],
    ["JACKFIELD_MASTER_KEY", secret],
  ]) {
    assert.doesNotMatch(refusal({ [name ?? ""]: value ?? "" }), new RegExp(secret));
  }
});

test("MySQL, which replicas share, needs a master key that is not made by one of them", () => {
  const DATABASE_URL = "mysql://user:password@db.example/jackfield";
  assert.match(refusal({ DATABASE_URL }), /^JACKFIELD_MASTER_KEY .*required/);
  assert.equal(readConfig({ DATABASE_URL, JACKFIELD_MASTER_KEY_FILE: "/run/key" }).masterKeyFile, "/run/key");
  assert.match(refusal({ JACKFIELD_MASTER_KEY: MASTER_KEY, JACKFIELD_MASTER_KEY_FILE: "/k" }), /keep one/);
});

test("the configuration cannot be changed after it was read", () => {
  const config = readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback" });
  for (const part of [config, config.log, config.allowPrivateUpstreams, config.trustedProxies])
    assert.ok(Object.isFrozen(part));
});
