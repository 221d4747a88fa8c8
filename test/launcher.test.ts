import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

const ROOT = join(import.meta.dirname, "..");

/** Prints its arguments and process id, then waits for a signal and ends with 7. `die` ends itself by a signal. */
const PROGRAM = `
const args: string[] = process.argv.slice(2);
const say = () => console.log(JSON.stringify({ args, pid: process.pid, cache: process.env["NODE_COMPILE_CACHE"] }));
if (args[0] !== "wait") say();
if (args[0] === "code") process.exit(3);
if (args[0] === "die") process.kill(process.pid, "SIGKILL");
if (args[0] === "wait") {
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(name, () => { console.log(name); if (name !== "SIGHUP") process.exit(name === "SIGTERM" ? 7 : 8); });
  }
  setInterval(() => {}, 1000);
  say();
}
`;

/** Makes the running Node claim to be another version, before the launcher looks. */
const pretend = (version: string) =>
  `Object.defineProperty(process, "version", { value: ${JSON.stringify(version)} });`;

interface Run {
  child: ChildProcess;
  /** Resolves once standard output holds the text. */
  saw(text: string): Promise<void>;
  end: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>;
}

describe("the launcher", () => {
  let home: string;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), "launcher-"));
    await mkdir(join(home, "server"));
    await copyFile(join(ROOT, "launch.js"), join(home, "launch.js"));
    await writeFile(join(home, "package.json"), '{"type":"module"}');
    await writeFile(join(home, "server", "main.ts"), PROGRAM);
    await writeFile(join(home, "old.cjs"), pretend("v18.19.0"));
  });
  after(() => rm(home, { recursive: true, force: true }));

  /** Puts a Node under node_modules that is another file than the running one, so that the launcher must spawn it. */
  async function install(script: string): Promise<void> {
    const folder = join(home, "node_modules", "node", "bin");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "node"), script);
    await chmod(join(folder, "node"), 0o755);
  }
  const uninstall = () => rm(join(home, "node_modules"), { recursive: true, force: true });

  function launch(args: string[], nodeArgs: string[] = []): Run {
    const env = { PATH: process.env["PATH"], HOME: home };
    const child = spawn(process.execPath, [...nodeArgs, join(home, "launch.js"), ...args], { env, cwd: tmpdir() });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    return {
      child,
      saw: async (text) => {
        while (!stdout.includes(text)) await once(child.stdout, "data");
      },
      end: once(child, "close").then(([code, signal]) => ({ code, signal, stdout, stderr })),
    };
  }

  it("runs the program in its own process where its Node is new enough, with the arguments untouched", async () => {
    const run = launch(["code", "--name", "a b", ""]);
    const { code, stdout } = await run.end;
    assert.equal(code, 3);
    const said = JSON.parse(stdout);
    assert.deepEqual(said.args, ["code", "--name", "a b", ""]);
    assert.equal(said.pid, run.child.pid);
  });

  it("keeps the compile cache in the user's own cache folder", async () => {
    const { stdout } = await launch([]).end;
    assert.ok(JSON.parse(stdout).cache.startsWith(home));
  });

  it("says in one line what is missing where every Node is too old", async () => {
    const { code, stdout, stderr } = await launch(["serve"], ["-r", join(home, "old.cjs")]).end;
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /^jackfield: Node 24 or newer is needed and this is v18\.19\.0: .*Node 24.*\n$/);
  });

  it("runs on the installed Node where its own is too old, and hands on the exit code", async () => {
    await install(`#!/bin/sh\nexec ${JSON.stringify(process.execPath)} "$@"\n`);
    try {
      const run = launch(["code", "x"], ["-r", join(home, "old.cjs")]);
      const { code, stdout } = await run.end;
      assert.equal(code, 3);
      assert.deepEqual(JSON.parse(stdout).args, ["code", "x"]);
      assert.notEqual(JSON.parse(stdout).pid, run.child.pid);
    } finally {
      await uninstall();
    }
  });

  it("passes over an installed Node that does not run or is too old", async () => {
    for (const script of ["#!/bin/sh\nexit 126\n", "#!/bin/sh\necho v22.20.0\n"]) {
      await install(script);
      try {
        const run = launch(["code"]);
        const { code, stdout } = await run.end;
        assert.equal(code, 3);
        assert.equal(JSON.parse(stdout).pid, run.child.pid);
      } finally {
        await uninstall();
      }
    }
  });

  it("forwards SIGHUP, SIGTERM and SIGINT to the program and waits for its end", async () => {
    await install(`#!/bin/sh\nexec ${JSON.stringify(process.execPath)} "$@"\n`);
    try {
      for (const [signal, expected] of [
        ["SIGTERM", 7],
        ["SIGINT", 8],
      ] as const) {
        const run = launch(["wait"]);
        await run.saw("pid");
        run.child.kill("SIGHUP");
        await run.saw("SIGHUP");
        run.child.kill(signal);
        const { code, stdout } = await run.end;
        assert.equal(code, expected);
        assert.ok(stdout.includes(signal));
      }
    } finally {
      await uninstall();
    }
  });

  it("ends by the signal that ended the program", async () => {
    await install(`#!/bin/sh\nexec ${JSON.stringify(process.execPath)} "$@"\n`);
    try {
      const { code, signal } = await launch(["die"]).end;
      assert.deepEqual({ code, signal }, { code: null, signal: "SIGKILL" });
    } finally {
      await uninstall();
    }
  });
});
