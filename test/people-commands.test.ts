import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { createApp } from "../server/app.ts";
import { runCli } from "../server/cli/program.ts";
import { type Running, run, runToEnd } from "./fixtures/command.ts";
import { ADMIN, createVisitor } from "./fixtures/page-visitor.ts";

const SERVES = /serves MCP at (http:\S+)/;

describe("how people come to an installation", () => {
  let folder: string;
  let env: Record<string, string>;
  let running: Running | undefined;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "people-"));
    env = {
      JACKFIELD_PORT: "0",
      JACKFIELD_DATA_DIR: join(folder, "data"),
      JACKFIELD_CONFIG_DIR: join(folder, "config"),
    };
    await mkdir(join(folder, "config"));
  });
  afterEach(async () => {
    running?.child.kill("SIGTERM");
    await running?.end;
    running = undefined;
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const serve = async () => {
    running = run([], env);
    const [, url = ""] = await running.saw(SERVES);
    await running.saw(/\n.*(token create|token is in)/);
    return { origin: new URL(url).origin, said: running.stdout() };
  };
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await runToEnd([...args, "--json"], env);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };

  it("the first start keeps the link that makes the admin in a private file whose path it prints; it works", async () => {
    const { origin, said } = await serve();
    const file = /makes its admin.* is in (\S+)/.exec(said)?.[1] ?? "";
    assert.equal(((await stat(file)).mode & 0o777).toString(8), "600");
    const link = (await readFile(file, "utf8")).trim();
    assert.ok(link.startsWith(`${origin}/setup/`));
    assert.ok(!said.includes(link), "nothing but the file holds the link where no person reads along");
    assert.equal((await createVisitor(origin).get(new URL(link).pathname)).status, 200);
  });

  it("a later start makes no new link, and says how one is made as long as nobody is the admin", async () => {
    const file = join(folder, "data", "setup-link");
    const before = await readFile(file, "utf8");
    const { said } = await serve();
    assert.match(said, /Nobody is its admin yet.*people setup-link/);
    assert.equal(await readFile(file, "utf8"), before);
  });

  it("the command makes another link beside the running server, which ends the first one", async () => {
    const { origin } = await serve();
    const first = new URL((await readFile(join(folder, "data", "setup-link"), "utf8")).trim()).pathname;
    assert.deepEqual(await json("people", "list"), []);
    const made = await json("people", "setup-link");
    assert.ok(Math.abs(Date.parse(made.expiresAt) - Date.now() - 86_400_000) < 60_000);
    const visitor = createVisitor(origin);
    assert.equal((await visitor.get(first)).status, 410);
    const { pathname } = new URL(made.url);
    await visitor.get(pathname);
    assert.equal((await visitor.post(pathname, ADMIN)).status, 303);
    const [person, ...others] = await json("people", "list");
    assert.deepEqual([person.username, person.name, person.role, others.length], ["dana", "Dana Reyes", "admin", 0]);
    assert.ok(!JSON.stringify(person).includes("argon2"));
  });

  it("with an admin the command makes no setup link, and a start says nothing of one", async () => {
    const refused = await runToEnd(["people", "setup-link"], env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^jackfield: There is an admin already.*people reset-link USERNAME\n$/);
    const { said } = await serve();
    assert.doesNotMatch(said, /admin/);
  });

  it("a reset link lets somebody who forgot their password choose a new one", async () => {
    const { origin } = await serve();
    const nobody = await runToEnd(["people", "reset-link", "erin"], env);
    assert.equal(nobody.code, 1);
    const { pathname } = new URL((await json("people", "reset-link", "Dana")).url);
    const visitor = createVisitor(origin);
    assert.match((await visitor.get(pathname)).text, /for dana\. You are signed out everywhere else/);
    assert.equal((await visitor.post(pathname, { password: "nine distant orchards" })).status, 303);
    const later = createVisitor(origin);
    await later.get("/sign-in");
    assert.equal((await later.post("/sign-in", { username: "dana", password: ADMIN.password })).status, 422);
    assert.equal((await later.post("/sign-in", { username: "dana", password: "nine distant orchards" })).status, 303);
  });

  it("invites, changes, removes and recovers people beside the running server", async () => {
    const { origin } = await serve();
    const invited = await json("people", "invite", "--name", "Rae", "--group", "night", "--group", "day");
    const visitor = createVisitor(origin);
    const { pathname } = new URL(invited.url);
    assert.match((await visitor.get(pathname)).text, /The operator invites you as a member/);
    const fields = { how: "create", name: "Rae", username: "rae", password: "seven quiet harbours" };
    assert.equal((await visitor.post(pathname, fields)).status, 303);
    assert.deepEqual(
      (await json("people", "groups", "rae", "late")).groups.map(({ name }: { name: string }) => name),
      ["late"],
    );
    assert.deepEqual(await json("people", "role", "rae", "admin"), { username: "rae", role: "admin" });
    assert.equal((await visitor.get("/members")).status, 200, "the server knows at once");
    const [rae] = (await json("people", "list")).filter(({ username }: { username: string }) => username === "rae");
    assert.deepEqual([rae.role, rae.groups, rae.hasPassword], ["admin", [{ name: "late", source: "" }], true]);
    assert.equal((await json("people", "sessions", "rae")).length, 1);
    assert.deepEqual((await json("people", "remove", "rae")).ended, { sessions: 1, grants: 0, tokens: 0, accounts: 0 });
    assert.equal((await visitor.get("/account")).status, 303);
    const refused = await runToEnd(["people", "remove", "dana"], env);
    assert.match(refused.stderr, /^jackfield: An organization keeps at least one admin/);
    const back = createVisitor(origin);
    const recovered = new URL((await json("people", "recover", "rae")).url).pathname;
    await back.get(recovered);
    assert.equal((await back.post(recovered, { password: "nine distant orchards" })).status, 303);
    assert.equal((await back.get("/members")).status, 200);
    assert.match((await json("people", "recover")).url, /\/invite\//);
    const { stdout } = await runToEnd(["audit", "tail", "--json"], env);
    for (const rule of ["member_role_changed", "member_removed", "member_recovered"]) assert.ok(stdout.includes(rule));
  });

  it("a further organization comes with a link for its first admin", async () => {
    const { origin } = await serve();
    const made = await json("organization", "create", "branch", "--name", "The branch");
    const visitor = createVisitor(origin);
    const { pathname } = new URL(made.invitation.url);
    assert.match((await visitor.get(pathname)).text, /Join The branch/);
    const fields = { how: "create", name: "Bo", username: "bo", password: "seven quiet harbours" };
    assert.equal((await visitor.post(pathname, fields)).status, 303);
    assert.equal((await visitor.get("/o/branch/members")).status, 200);
    assert.equal((await visitor.get("/members")).status, 404);
  });

  it("on a terminal the first start shows the link, and no file holds it", async () => {
    const dataDir = join(folder, "second");
    let said = "";
    const { promise: shown, resolve } = Promise.withResolvers<string>();
    const ended = runCli(["serve"], {
      env: { ...env, JACKFIELD_DATA_DIR: dataDir, JACKFIELD_LOG: "silent" },
      out: (text) => {
        said += text;
        const link = /in a browser, once, within 24 hours:\s+(http\S+\/setup\/[\w-]{43})\n/.exec(said)?.[1];
        if (link !== undefined) resolve(link);
      },
      err: () => {},
      input: async () => "",
      taken: async () => true,
      terminal: true,
      createApp,
    });
    const link = await shown;
    assert.equal((await createVisitor(new URL(link).origin).get(new URL(link).pathname)).status, 200);
    await assert.rejects(stat(join(dataDir, "setup-link")), { code: "ENOENT" });
    process.emit("SIGTERM", "SIGTERM");
    assert.equal(await ended, 0);
  });
});
