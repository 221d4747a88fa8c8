/** What every form of the shared state must do. Registers its tests under the given name. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Payload, SharedState } from "../../server/shared-state/contract.ts";

/** Opens two peers of one deployment, as two processes would be; they are closed with the test. */
export type OpenPeers = (t: TestContext) => Promise<[SharedState, SharedState]>;

export interface SharedStateTraits {
  skip: string | false;
  /** Whether locks, limits and cache hold for all processes, or for one. */
  scope: "deployment" | "process";
}

export function sharedStateSuite(name: string, { skip, scope }: SharedStateTraits, open: OpenPeers): void {
  describe(name, { skip }, () => {
    test("a message reaches the other process and, at once, the publisher's own listeners", async (t) => {
      const [here, there] = await open(t);
      const heardHere: Payload[] = [];
      here.bus.subscribe("tokens", (payload) => heardHere.push(payload));
      const heardThere = nextMessage(there, "tokens");
      await here.bus.publish("tokens", { id: "1" });
      assert.deepEqual(heardHere, [{ id: "1" }]);
      assert.deepEqual(await heardThere, { id: "1" });
      assert.deepEqual(heardHere, [{ id: "1" }], "the publisher hears it once");
    });

    test("messages arrive in order, and only at listeners of their topic", async (t) => {
      const [here, there] = await open(t);
      const heard: unknown[] = [];
      there.bus.subscribe("catalogue", ({ number }) => heard.push(number));
      there.bus.subscribe("other", () => heard.push("wrong topic"));
      const last = new Promise<void>((resolve) => {
        there.bus.subscribe("catalogue", ({ number }) => number === 20 && resolve());
      });
      for (let number = 1; number <= 20; number += 1) await here.bus.publish("catalogue", { number });
      await last;
      assert.deepEqual(
        heard,
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
    });

    test("an ended subscription hears nothing more; a listener that throws disturbs no other", async (t) => {
      const [here] = await open(t);
      const heard: string[] = [];
      const end = here.bus.subscribe("tokens", () => heard.push("ended"));
      here.bus.subscribe("tokens", () => {
        throw new Error("of the listener");
      });
      here.bus.subscribe("tokens", () => heard.push("kept"));
      end();
      await here.bus.publish("tokens", {});
      assert.deepEqual(heard, ["kept"]);
    });

    test("a lock has one holder; who waits gets it when it is released", async (t) => {
      const { locks } = (await open(t))[0];
      const release = await locks.acquire("job", { ttlMs: 60_000 });
      assert.ok(release);
      assert.equal(await locks.acquire("job", { ttlMs: 60_000 }), undefined);
      assert.ok(await locks.acquire("another job", { ttlMs: 60_000 }));
      const waiting = locks.acquire("job", { ttlMs: 60_000, waitMs: 30_000 });
      await release();
      assert.ok(await waiting);
      assert.equal(await locks.acquire("job", { ttlMs: 60_000, waitMs: 30 }), undefined);
    });

    test("a lock whose time is over is anybody's, and its first holder cannot release it any more", async (t) => {
      const { locks } = (await open(t))[0];
      const late = await locks.acquire("job", { ttlMs: 30 });
      const second = await locks.acquire("job", { ttlMs: 60_000, waitMs: 30_000 });
      assert.ok(late && second);
      await late();
      assert.equal(await locks.acquire("job", { ttlMs: 60_000 }), undefined);
      await second();
      assert.ok(await locks.acquire("job", { ttlMs: 60_000 }));
    });

    test("a limit lets its points through and says when there are more", async (t) => {
      const { limiter } = (await open(t))[0];
      const limit = { points: 3, perMs: 60_000 };
      const answers = [];
      for (let call = 0; call < 4; call += 1) answers.push(await limiter.consume("someone", limit));
      assert.deepEqual(
        answers.map(({ allowed }) => allowed),
        [true, true, true, false],
      );
      assert.deepEqual(
        answers.map(({ remaining }) => remaining),
        [2, 1, 0, 0],
      );
      assert.equal(answers[0]?.retryAfterMs, 0);
      const wait = answers[3]?.retryAfterMs ?? 0;
      assert.ok(wait > 0 && wait <= 60_000, String(wait));
      assert.equal((await limiter.consume("someone else", limit)).allowed, true);
    });

    test("of many at once a limit lets exactly its points through", async (t) => {
      const { limiter } = (await open(t))[0];
      const calls = Array.from({ length: 30 }, () => limiter.consume("crowd", { points: 10, perMs: 60_000 }));
      assert.equal((await Promise.all(calls)).filter(({ allowed }) => allowed).length, 10);
    });

    test("a limit opens again when its window is over", async (t) => {
      const { limiter } = (await open(t))[0];
      const limit = { points: 1, perMs: 40 };
      await limiter.consume("k", limit);
      let answer = await limiter.consume("k", limit);
      while (!answer.allowed) {
        await new Promise((resolve) => setTimeout(resolve, answer.retryAfterMs));
        answer = await limiter.consume("k", limit);
      }
      assert.equal(answer.remaining, 0);
    });

    test("a point that is given back can be taken again, one that was never taken cannot", async (t) => {
      const { limiter } = (await open(t))[0];
      const limit = { points: 2, perMs: 60_000 };
      await limiter.refund("k");
      for (const allowed of [true, true, false]) assert.equal((await limiter.consume("k", limit)).allowed, allowed);
      await limiter.refund("k");
      await limiter.refund("k");
      assert.deepEqual(await limiter.consume("k", limit), { allowed: true, remaining: 0, retryAfterMs: 0 });
      assert.equal((await limiter.consume("k", limit)).allowed, false);
    });

    test("the cache keeps, replaces and deletes", async (t) => {
      const { cache } = (await open(t))[0];
      assert.equal(await cache.get("a"), undefined);
      await cache.set("a", "1", 60_000);
      await cache.set("a", "ü\u{1F600}", 60_000);
      assert.equal(await cache.get("a"), "ü\u{1F600}");
      await cache.delete("a");
      assert.equal(await cache.get("a"), undefined);
    });

    test(`locks, limits and cache hold for the ${scope}`, async (t) => {
      const [here, there] = await open(t);
      const shared = scope === "deployment";
      await here.locks.acquire("job", { ttlMs: 60_000 });
      assert.equal((await there.locks.acquire("job", { ttlMs: 60_000 })) === undefined, shared);
      await here.limiter.consume("k", { points: 1, perMs: 60_000 });
      assert.equal((await there.limiter.consume("k", { points: 1, perMs: 60_000 })).allowed, !shared);
      await here.cache.set("k", "v", 60_000);
      assert.equal(await there.cache.get("k"), shared ? "v" : undefined);
    });
  });
}

/** The next payload that a peer hears on a topic. */
export function nextMessage({ bus }: SharedState, topic: string): Promise<Payload> {
  return new Promise((resolve) => {
    const end = bus.subscribe(topic, (payload) => {
      end();
      resolve(payload);
    });
  });
}
