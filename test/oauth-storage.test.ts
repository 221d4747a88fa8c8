import assert from "node:assert/strict";
import { test } from "node:test";
import { databases } from "./fixtures/databases.ts";
import { signInClient } from "./fixtures/oauth-client.ts";
import { signedInAdmin } from "./fixtures/page-visitor.ts";
import { startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";

for (const database of databases) {
  test(`clients sign in, refresh in parallel, replay and are ended, and tokens are rotated, on ${database.name}`, {
    skip: database.skip,
  }, async (t) => {
    const { url } = await database.place(t);
    let now = Date.now();
    await using product = await startProduct({
      clock: () => now,
      env: {
        JACKFIELD_TRUSTED_PROXIES: "loopback",
        JACKFIELD_MASTER_KEY: "a".repeat(64),
        ...(url === undefined ? {} : { DATABASE_URL: url }),
      },
    });
    const visitor = await signedInAdmin(product);
    const works = async (token: string) => (await postModern(product.url, token, "tools/list")).status === 200;
    const client = await signInClient(product, visitor);
    assert.ok(await works(client.tokens.access_token));

    const refreshed = await Promise.all([client.refresh(), client.refresh(), client.refresh()]);
    for (const { status, body } of refreshed) {
      assert.equal(status, 200, JSON.stringify(body));
      assert.ok(await works(body.access_token));
    }
    now += 121_000;
    assert.equal((await client.refresh()).body.error, "invalid_grant");
    for (const { body } of refreshed) assert.equal(await works(body.access_token), false, "the family is dead");

    const other = await signInClient(product, visitor, { scopes: ["mcp:read"] });
    const { oauth, tokens, store } = product.app;
    const [grant] = await oauth.grants.list(
      product.app.registry.endpoint(undefined, undefined)?.endpoint.organizationId ?? "",
    );
    assert.ok(grant);
    assert.ok(await oauth.stepUp.widen(grant, ["mcp:write"]));
    assert.equal((await oauth.grants.live(grant.id))?.scopes, "mcp:read mcp:write");
    assert.equal((await other.refresh()).body.scope, "mcp:read mcp:write");
    await oauth.grants.end(grant.grantKey, "revoked");
    assert.equal(await works(other.tokens.access_token), false);

    now += 8 * 86_400_000;
    await oauth.reaper.sweep();
    assert.equal(await store.models.oauthArtifacts.count({ where: { model: "AccessToken" } }), 0);

    const secret = await product.token();
    const row = await store.models.agentTokens.findOne();
    const rotation = { overlapMs: 3_600_000, createdBy: "test", within: () => true };
    const successor = await tokens.rotate(row?.organizationId ?? "", row?.id ?? "", rotation);
    assert.deepEqual([await works(secret), await works(successor.token)], [true, true]);
    now += 3_600_000;
    assert.deepEqual([await works(secret), await works(successor.token)], [false, true]);
  });
}
