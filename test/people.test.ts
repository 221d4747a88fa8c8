import assert from "node:assert/strict";
import { argon2 } from "node:crypto";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { ownPath } from "../server/admin/return-to.ts";
import { createAudit } from "../server/observe/audit.ts";
import { createCookies } from "../server/people/cookies.ts";
import { createCsrf } from "../server/people/csrf.ts";
import { createOneTimeLinks, type OneTimeLink } from "../server/people/one-time-links.ts";
import { createOrganization } from "../server/people/organizations.ts";
import { createPasswords, passwordProblem } from "../server/people/password.ts";
import { createPerson, plainUsername, usernameProblem } from "../server/people/people.ts";
import { may, PERMISSIONS } from "../server/people/permissions.ts";
import { LINK_MS, resetPassword, setUpAdmin } from "../server/people/setup.ts";
import { createSignIn } from "../server/people/sign-in.ts";
import { createWebSessions } from "../server/people/web-sessions.ts";
import { createMemoryLimiter } from "../server/shared-state/memory-limiter.ts";
import type { Store } from "../server/store/database.ts";
import { openKeyring } from "../server/vault/keyring.ts";
import { databases, storeFor } from "./fixtures/databases.ts";
import { silentLog } from "./fixtures/silent-log.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const PASSWORD = "seven quiet harbours";
const derive = promisify(argon2);

/** argon2 of Node, and the parameters it was called with. */
function counting() {
  const calls: { memory: number; passes: number; parallelism: number }[] = [];
  const passwords = createPasswords((algorithm, parameters) => {
    calls.push({ memory: parameters.memory, passes: parameters.passes, parallelism: parameters.parallelism });
    return derive(algorithm, parameters);
  });
  return { calls, passwords };
}

function requestWith(headers: Record<string, string>): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  Object.assign(request.headers, headers);
  return request;
}

/** What a browser sends back after `Set-Cookie`. */
function cookieOf(setCookies: readonly string[]): string {
  return setCookies
    .map((line) => line.split(";")[0]!)
    .filter((pair) => !pair.endsWith("="))
    .join("; ");
}

async function organizationIn(store: Store): Promise<string> {
  return (await createOrganization(store, { slug: "acme", name: "Acme" })).id;
}

async function personIn(store: Store, organizationId: string, passwordHash: string, username = "dana") {
  return store.transaction((transaction) =>
    createPerson(
      store,
      { username, name: "Dana Reyes", passwordHash, organizationId, role: "admin" },
      { now: new Date(0), transaction },
    ),
  );
}

describe("a password", () => {
  test("is kept as a PHC string of argon2id, with a salt of its own", async () => {
    const passwords = createPasswords();
    const [first, second] = await Promise.all([passwords.hash(PASSWORD), passwords.hash(PASSWORD)]);
    assert.match(first, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    assert.notEqual(first, second);
    assert.deepEqual(await passwords.verify(PASSWORD, first), { ok: true, rehash: false });
    assert.deepEqual(await passwords.verify(`${PASSWORD} `, first), { ok: false, rehash: false });
  });

  test("is the same whichever keyboard wrote its characters", async () => {
    const passwords = createPasswords();
    const stored = await passwords.hash("z\u00fcrich on a cold morning");
    assert.equal((await passwords.verify("zu\u0308rich on a cold morning", stored)).ok, true);
  });

  test("that was kept at other costs is right, and is to be kept anew", async () => {
    const salt = Buffer.alloc(16, 7);
    const parameters = { message: PASSWORD, nonce: salt, tagLength: 32, memory: 8_192, passes: 1, parallelism: 1 };
    const tag = await derive("argon2id", parameters);
    const base64 = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
    const stored = `$argon2id$v=19$m=8192,t=1,p=1$${base64(salt)}$${base64(tag)}`;
    const passwords = createPasswords();
    assert.deepEqual(await passwords.verify(PASSWORD, stored), { ok: true, rehash: true });
    assert.deepEqual(await passwords.verify("something else", stored), { ok: false, rehash: false });
  });

  test("of nobody, without a hash, or with a broken one costs the same and is wrong", async () => {
    const { calls, passwords } = counting();
    const stored = await passwords.hash(PASSWORD);
    calls.length = 0;
    await passwords.verify("wrong", stored);
    const known = calls.splice(0);
    for (const nothing of [undefined, null, "", "$argon2id$broken", "$2b$12$abcdefghijklmnopqrstuv"]) {
      assert.deepEqual(await passwords.verify(PASSWORD, nothing), { ok: false, rehash: false });
      assert.deepEqual(calls.splice(0), known);
    }
  });

  test("is hashed beside at most two others; too many at once are told to come later", async () => {
    let running = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    const passwords = createPasswords(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => gates.push(resolve));
      running -= 1;
      return Buffer.alloc(32);
    });
    const waiting = Array.from({ length: 103 }, () => passwords.hash(PASSWORD));
    await assert.rejects(passwords.hash(PASSWORD), { code: "busy" });
    let done = 0;
    while (done < waiting.length) {
      const gate = gates.shift();
      if (gate === undefined) await new Promise(setImmediate);
      else {
        gate();
        done += 1;
      }
    }
    await Promise.all(waiting);
    assert.equal(most, 3);
    assert.match(await Promise.resolve(waiting[102]!), /^\$argon2id/);
  });

  for (const [password, problem] of [
    ["seven quiet harbours", undefined],
    ["83#92!74$a6%1x", undefined],
    ["tV4mQ0zrLw9x", undefined],
    ["短い言葉をいくつも並べたもの", undefined],
    ["elevenchars", /at least 12/],
    [" ".repeat(12), /easy to guess/],
    ["x".repeat(257), /at most 256 bytes/],
    ["ü".repeat(129), /at most 256 bytes/],
    ["aaaaaaaaaaaaaaa", /easy to guess/],
    ["abcdefghijklmnop", /easy to guess/],
    ["123456789012", /easy to guess/],
    ["password1234", /easy to guess/],
    ["Password!2026", /easy to guess/],
    ["PASSWORDPASSWORD", /easy to guess/],
    ["qwertyuiop123", /easy to guess/],
    ["jackfield-2026", /easy to guess/],
    ["dana.reyes.2026", /easy to guess/],
    ["correcthorsebatterystaple", /easy to guess/],
  ] as const) {
    test(`${JSON.stringify(password.slice(0, 30))} is ${problem === undefined ? "good enough" : "refused"}`, () => {
      const found = passwordProblem(password, { username: "dana.reyes", name: "Dana Reyes" });
      if (problem === undefined) assert.equal(found, undefined);
      else assert.match(found ?? "", problem);
    });
  }
});

test("a username is compared in lower case, and has characters that are told apart by eye", () => {
  assert.equal(plainUsername("  Dana@ACME.example "), "dana@acme.example");
  for (const good of ["dana", "dana@acme.example", "d", "0-x_y.z+1"]) assert.equal(usernameProblem(good), undefined);
  for (const bad of ["", "-dana", "d\u0430na", "a b", "a/b", "x".repeat(129)]) assert.ok(usernameProblem(bad), bad);
});

test("an admin may do everything, a member use tools, and who does not belong nothing", () => {
  assert.deepEqual(
    PERMISSIONS.filter((permission) => may("admin", permission)),
    PERMISSIONS,
  );
  assert.deepEqual(
    PERMISSIONS.filter((permission) => may("member", permission)),
    ["tools:use"],
  );
  assert.ok(!PERMISSIONS.some((permission) => may(undefined, permission)));
});

test("the way back after a sign-in is a path of our own, or the start page", () => {
  for (const path of ["/", "/a", "/connections/sign-in?ticket=a.b_c-d%2F", "/a?b=//c#d", "/ü"]) {
    assert.equal(ownPath(path), path);
  }
  for (const path of [
    ...[undefined, 7, ["/a"], "", "a", "//evil.example", "/\\evil.example", "\\/evil.example", "/\t/evil.example"],
    ...["https://evil.example", "javascript:alert(1)", "/a\nset-cookie: b", " /a", "/a b", "/a\\b", "/\u2028/evil"],
    `/${"x".repeat(2_000)}`,
  ]) {
    assert.equal(ownPath(path), "/", String(path));
  }
});

for (const database of databases) {
  describe(`people on ${database.name}`, { skip: database.skip }, () => {
    async function rooms(t: TestContext) {
      const store = await storeFor(t, database);
      const organizationId = await organizationIn(store);
      let now = Date.parse("2026-11-30T12:00:00Z");
      const clock = () => now;
      return { store, organizationId, clock, pass: (ms: number) => (now += ms) };
    }

    async function sessionsIn(t: TestContext) {
      const place = await rooms(t);
      const cookies = createCookies(true);
      const sessions = createWebSessions({ store: place.store, cookies, clock: place.clock });
      const person = await personIn(place.store, place.organizationId, "unused");
      const signIn = async (before?: string) => {
        const request = requestWith(before === undefined ? {} : { cookie: before });
        return cookieOf(await sessions.start(request, person.id, { means: "password" }));
      };
      const who = async (cookie: string) => (await sessions.personOf(requestWith({ cookie })))?.person.username;
      return { ...place, sessions, person, signIn, who };
    }

    test("a session tells person and role, and the database holds nothing to sign in with", async (t) => {
      const { sessions, signIn, store, organizationId } = await sessionsIn(t);
      const cookie = await signIn();
      const signedIn = await sessions.personOf(requestWith({ cookie }));
      assert.equal(signedIn?.person.name, "Dana Reyes");
      assert.ok(!("passwordHash" in (signedIn?.person ?? {})));
      assert.equal(signedIn?.role(organizationId), "admin");
      assert.equal(signedIn?.role("another"), undefined);
      const rows = JSON.stringify(await store.models.webSessions.findAll());
      assert.ok(!rows.includes(cookie.split("=")[1]!));
    });

    test("a session ends after eight hours of silence, and after seven days whatever happens", async (t) => {
      const { signIn, who, pass } = await sessionsIn(t);
      const silent = await signIn();
      pass(8 * HOUR - 1);
      assert.equal(await who(silent), "dana");
      pass(8 * HOUR);
      assert.equal(await who(silent), undefined);
      const busy = await signIn();
      for (let hours = 7; hours < 168; hours += 7) {
        pass(7 * HOUR);
        assert.equal(await who(busy), "dana", `after ${hours} hours`);
      }
      pass(7 * HOUR);
      assert.equal(await who(busy), undefined);
    });

    test("a sign-in makes a new session and ends the one that the browser had; other browsers stay signed in", async (t) => {
      const { sessions, signIn, who, person } = await sessionsIn(t);
      const [phone, laptop] = [await signIn(), await signIn()];
      const again = await signIn(laptop);
      assert.notEqual(again, laptop);
      assert.deepEqual([await who(phone), await who(laptop), await who(again)], ["dana", undefined, "dana"]);
      await sessions.end(requestWith({ cookie: again }));
      assert.deepEqual([await who(phone), await who(again)], ["dana", undefined]);
      await sessions.endAll(person.id);
      assert.equal(await who(phone), undefined);
    });

    test("a person who is disabled is signed out at once", async (t) => {
      const { store, signIn, who, person } = await sessionsIn(t);
      const cookie = await signIn();
      await store.models.people.update({ disabledAt: new Date(0) }, { where: { id: person.id } });
      assert.equal(await who(cookie), undefined);
    });

    test("a cookie of another form, or of a session that never was, is nobody's", async (t) => {
      const { who } = await sessionsIn(t);
      for (const value of ["", "x", "a".repeat(43), `${"a".repeat(42)}'`, "a".repeat(5_000)]) {
        assert.equal(await who(`__Host-jackfield-session=${value}`), undefined);
      }
      assert.equal(await who("=; ;;__Host-jackfield-session"), undefined);
    });

    async function linksIn(t: TestContext) {
      const place = await rooms(t);
      const links = createOneTimeLinks({ store: place.store, clock: place.clock });
      const parts = { ...place, links, passwords: createPasswords() };
      const setup = { kind: "setup", organizationId: place.organizationId, role: "admin", forMs: LINK_MS } as const;
      const found = async (secret: string): Promise<OneTimeLink> => {
        const link = await links.find(secret);
        assert.ok(link);
        return link;
      };
      return { ...parts, parts, setup, found };
    }

    test("of many who open one setup link at once, one becomes the admin", async (t) => {
      const { parts, links, setup, found, store, organizationId } = await linksIn(t);
      const { secret } = await links.create(setup);
      const link = await found(secret);
      const attempts = await Promise.allSettled(
        Array.from({ length: 6 }, (_, number) =>
          setUpAdmin(parts, link, { username: `dana${number}`, name: "Dana", password: PASSWORD }),
        ),
      );
      assert.equal(attempts.filter(({ status }) => status === "fulfilled").length, 1);
      for (const attempt of attempts)
        if (attempt.status === "rejected") assert.equal(attempt.reason.code, "link_ended");
      assert.equal(await store.models.members.count({ where: { organizationId, role: "admin" } }), 1);
      assert.equal(await links.find(secret), undefined);
    });

    test("a link ends after a day, when a newer one is made, and leaves nothing in the database but its hash", async (t) => {
      const { links, setup, pass, store } = await linksIn(t);
      const first = await links.create(setup);
      assert.ok(await links.find(first.secret));
      assert.ok(!JSON.stringify(await store.models.oneTimeLinks.findAll()).includes(first.secret));
      const second = await links.create(setup);
      assert.equal(await links.find(first.secret), undefined);
      pass(24 * HOUR - 1);
      assert.ok(await links.find(second.secret));
      pass(1);
      assert.equal(await links.find(second.secret), undefined);
    });

    test("a setup link that was found before another one was used makes no second admin", async (t) => {
      const { parts, links, setup, found } = await linksIn(t);
      const one = await found((await links.create(setup)).secret);
      const { id: otherId } = await parts.store.models.oneTimeLinks.create({
        ...{ kind: "setup", hash: "f".repeat(64), organizationId: setup.organizationId, role: "admin" },
        ...{ createdAt: new Date(parts.clock()), expiresAt: new Date(parts.clock() + HOUR) },
      });
      await setUpAdmin(parts, one, { username: "dana", name: "Dana", password: PASSWORD });
      const second = setUpAdmin(parts, { ...one, id: otherId }, { username: "eve", name: "Eve", password: PASSWORD });
      await assert.rejects(second, { code: "link_ended" });
    });

    test("a name that is taken leaves the link for another try", async (t) => {
      const { parts, links, setup, found, store, organizationId } = await linksIn(t);
      const dana = await personIn(store, organizationId, "unused");
      await store.models.members.update({ role: "member" }, { where: { personId: dana.id } });
      const link = await found((await links.create(setup)).secret);
      const taken = setUpAdmin(parts, link, { username: "dana", name: "Dana", password: PASSWORD });
      await assert.rejects(taken, { code: "username_taken" });
      assert.equal((await setUpAdmin(parts, link, { username: "dana2", name: "D", password: PASSWORD })).name, "D");
    });

    test("a reset link sets the password of its person, once", async (t) => {
      const { parts, links, found, store, organizationId, passwords } = await linksIn(t);
      const { id: personId } = await personIn(store, organizationId, "unused");
      const { secret } = await links.create({ kind: "reset", organizationId, role: "admin", personId, forMs: LINK_MS });
      const link = await found(secret);
      await resetPassword(parts, link, PASSWORD);
      const row = await store.models.people.findByPk(personId);
      assert.equal((await passwords.verify(PASSWORD, row?.passwordHash)).ok, true);
      await assert.rejects(resetPassword(parts, link, "another password"), { code: "link_ended" });
    });
  });
}

describe("signing in", () => {
  async function doors(t: TestContext) {
    const store = await storeFor(t);
    const organizationId = await organizationIn(store);
    const keyring = await openKeyring({ config: { masterKey: undefined, masterKeyFile: undefined }, ...store });
    let now = 0;
    const clock = () => now;
    const { calls, passwords } = counting();
    const person = await personIn(store, organizationId, await passwords.hash(PASSWORD));
    calls.length = 0;
    const audit = createAudit({ store, keyring, log: silentLog, clock: Date.now });
    t.after(() => audit.close());
    const waits: number[] = [];
    const signIn = createSignIn({
      ...{ store, passwords, audit, log: silentLog, limiter: createMemoryLimiter(clock) },
      wait: async (ms) => void waits.push(ms),
    });
    const kind = async (username: string, password: string, address?: string) =>
      (await signIn.check(username, password, address)).kind;
    return { store, person, passwords, calls, audit, signIn, kind, waits, pass: (ms: number) => (now += ms) };
  }

  test("an unknown account gets the answer of a wrong password and as many hashes", async (t) => {
    const { kind, calls, store, person } = await doors(t);
    const work = async (username: string, password: string, address: string) => {
      calls.length = 0;
      return { kind: await kind(username, password, address), calls: [...calls] };
    };
    const wrong = await work("dana", "wrong", "192.0.2.1");
    assert.equal(wrong.kind, "wrong");
    assert.equal(wrong.calls.length, 1);
    assert.deepEqual(await work("nobody", "wrong", "192.0.2.2"), wrong);
    assert.deepEqual(await work("' OR 1=1 --", "wrong", "192.0.2.2"), wrong);
    await store.models.people.update({ disabledAt: new Date(0) }, { where: { id: person.id } });
    assert.deepEqual(await work("dana", PASSWORD, "192.0.2.3"), wrong);
    await store.models.people.update({ disabledAt: null, passwordHash: null }, { where: { id: person.id } });
    assert.deepEqual(await work("dana", PASSWORD, "192.0.2.4"), wrong);
  });

  test("after five wrong passwords an address may not try the account for a quarter of an hour", async (t) => {
    const { kind, signIn, calls, pass } = await doors(t);
    for (let attempt = 0; attempt < 5; attempt += 1) assert.equal(await kind("Dana", "wrong", "192.0.2.1"), "wrong");
    calls.length = 0;
    assert.deepEqual(await signIn.check("dana", PASSWORD, "192.0.2.1"), { kind: "limited", retryAfterMs: 15 * MINUTE });
    assert.equal(calls.length, 0, "nothing is hashed for whoever is limited");
    pass(15 * MINUTE);
    assert.equal(await kind("dana", PASSWORD, "192.0.2.1"), "in");
  });

  test("an unknown account is limited like a known one", async (t) => {
    const { kind } = await doors(t);
    for (let attempt = 0; attempt < 5; attempt += 1) assert.equal(await kind("nobody", "wrong", "192.0.2.1"), "wrong");
    assert.equal(await kind("nobody", "wrong", "192.0.2.1"), "limited");
  });

  test("strangers who guess from everywhere slow an account down, by more each time, and never lock it", async (t) => {
    const { kind, waits } = await doors(t);
    for (let stranger = 0; stranger < 60; stranger += 1) {
      assert.equal(await kind("dana", "wrong", `198.51.100.${stranger}`), "wrong");
    }
    assert.deepEqual(waits.slice(0, 6), [250, 500, 1_000, 2_000, 4_000, 4_000]);
    assert.equal(waits.length, 55);
    assert.equal(await kind("dana", PASSWORD, "192.0.2.1"), "in");
    assert.equal(waits.at(-1), 4_000);
    assert.equal(await kind("erin", "wrong", "192.0.2.1"), "wrong");
    assert.equal(waits.length, 56, "another account is not slowed down");
  });

  test("an address may be wrong thirty times, whatever the accounts; its /64 counts as one", async (t) => {
    const { kind } = await doors(t);
    for (let attempt = 0; attempt < 30; attempt += 1) {
      assert.equal(await kind(`someone${attempt}`, "wrong", `2001:db8::${attempt + 1}`), "wrong");
    }
    assert.equal(await kind("dana", PASSWORD, "2001:db8::ffff"), "limited");
    assert.equal(await kind("dana", PASSWORD, "2001:db8:0:1::1"), "in");
    assert.equal(await kind("dana", PASSWORD, "::ffff:192.0.2.1"), "in");
  });

  test("right passwords use nothing up", async (t) => {
    const { kind } = await doors(t);
    for (let attempt = 0; attempt < 40; attempt += 1) assert.equal(await kind("dana", PASSWORD, "192.0.2.1"), "in");
  });

  test("of many attempts at once no more than the limit are checked", async (t) => {
    const { kind, calls } = await doors(t);
    const answers = await Promise.all(Array.from({ length: 20 }, () => kind("dana", "wrong", "192.0.2.1")));
    assert.equal(answers.filter((answer) => answer === "wrong").length, 5);
    assert.equal(calls.length, 5);
  });

  test("each sign-in and refusal of somebody is written down, of nobody nothing", async (t) => {
    const { kind, audit, person } = await doors(t);
    await kind("dana", "wrong", "192.0.2.1");
    await kind("dana", PASSWORD, "192.0.2.1");
    await kind("my password typed here", "wrong", "192.0.2.1");
    await audit.flush();
    const events = await audit.tail();
    assert.deepEqual(
      events.map(({ door, principalSubject, decision, outcome, rule }) => [
        door,
        principalSubject,
        decision,
        outcome,
        rule,
      ]),
      [
        ["sign_in", person.id, "refuse", "refused", "password"],
        ["sign_in", person.id, "allow", "ok", "password"],
      ],
    );
  });
});

describe("the form's token", () => {
  async function forms(t: TestContext, publicUrl?: string) {
    const store = await storeFor(t);
    const keyring = await openKeyring({ config: { masterKey: undefined, masterKeyFile: undefined }, ...store });
    const cookies = createCookies(publicUrl?.startsWith("https:") === true);
    return { csrf: createCsrf({ keyring, cookies, publicUrl }), cookies };
  }

  test("belongs to one browser: the same in every tab, and worth nothing in another", async (t) => {
    const { csrf } = await forms(t);
    const first = csrf.tokenFor(requestWith({}));
    const cookie = cookieOf([first.cookie!]);
    assert.deepEqual(csrf.tokenFor(requestWith({ cookie })), { token: first.token });
    assert.equal(csrf.accepts(requestWith({ cookie }), first.token), true);
    const other = csrf.tokenFor(requestWith({}));
    assert.equal(csrf.accepts(requestWith({ cookie }), other.token), false);
    assert.equal(csrf.accepts(requestWith({}), first.token), false);
    for (const wrong of [undefined, "", [first.token], `${first.token}x`]) {
      assert.equal(csrf.accepts(requestWith({ cookie }), wrong), false);
    }
  });

  test("of a visitor is worth nothing once somebody is signed in", async (t) => {
    const { csrf, cookies } = await forms(t);
    const planted = csrf.tokenFor(requestWith({}));
    const cookie = `${cookieOf([planted.cookie!])}; ${cookieOf([cookies.write("session", "s".repeat(43))])}`;
    assert.equal(csrf.accepts(requestWith({ cookie }), planted.token), false);
  });

  test("does not help a page of another site, or of another port", async (t) => {
    const publicUrl = "https://mcp.acme.example";
    const { csrf } = await forms(t, publicUrl);
    const { token, cookie: set } = csrf.tokenFor(requestWith({}));
    const from = (headers: Record<string, string>) =>
      csrf.accepts(requestWith({ cookie: cookieOf([set!]), host: "mcp.acme.example", ...headers }), token);
    assert.equal(from({ "sec-fetch-site": "same-origin", origin: "null" }), true);
    assert.equal(from({ origin: publicUrl }), true);
    assert.equal(from({ "sec-fetch-site": "cross-site", origin: publicUrl }), false);
    assert.equal(from({ "sec-fetch-site": "same-site" }), false);
    for (const origin of ["https://evil.example", "https://mcp.acme.example:8443", "null", "x"]) {
      assert.equal(from({ origin }), false, origin);
    }
  });
});

test("over https cookies are bound to the host and to https; over http they have plain names", () => {
  const value = "v".repeat(43);
  assert.equal(
    createCookies(true).write("session", value, 1_000),
    `__Host-jackfield-session=${value}; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=1`,
  );
  assert.equal(
    createCookies(false).write("visitor", value),
    `jackfield-visitor=${value}; Path=/; HttpOnly; SameSite=Lax`,
  );
  assert.equal(createCookies(true).read(requestWith({ cookie: `jackfield-session=${value}` }), "session"), undefined);
});
