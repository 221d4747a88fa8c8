import assert from "node:assert/strict";
import { test } from "node:test";
import { personKey } from "../server/people/people.ts";
import { openLink, pathOf, signedInPerson, signInStage, visitServer } from "./fixtures/connection-sign-in.ts";
import { personId } from "./fixtures/people-room.ts";

test("whoever is removed loses their accounts at connections, also at the service; others keep theirs", async () => {
  await using stage = await signInStage({}, {}, { subject: "user" });
  const { product, admin, server } = stage;
  const accounts = product.app.store.models.accounts;
  for (const username of ["lou", "max"]) {
    const visitor = await signedInPerson(product, { username, role: "member" });
    const asked = await visitor.get("/connections/authorize?connection=tracker");
    const { url }: { url: string } = JSON.parse(asked.text);
    const page = await visitor.get(await visitServer(await openLink(visitor, pathOf(url))));
    assert.equal(page.status, 200, page.text);
  }
  const [lou, max] = [await personId(product, "lou"), await personId(product, "max")];
  assert.equal(await accounts.count(), 2);
  await admin.get(`/members/${lou}`);
  assert.equal((await admin.post(`/members/${lou}`, { change: "remove" })).status, 303);
  assert.equal(server.seen("revoke").length, 2, "the refresh token and the access token");
  const left = await accounts.findAll();
  assert.deepEqual(
    left.map(({ principalKey, state }) => [principalKey, state]),
    [[personKey(max), "connected"]],
  );
});
