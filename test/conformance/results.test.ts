import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResults } from "./results.ts";

const OUTPUT = `
=== Running scenario: tools-list ===
✓ tools-list: 99 passed, 0 failed

=== SUMMARY ===
✓ tools-list: 4 passed, 0 failed
✗ ping: 1 passed, 2 failed
✗ tasks-lifecycle: 1 passed, 8 failed
✓ json-schema-2020-12: 8 passed, 0 failed

Total: 14 passed, 10 failed

Not scored for 2026-07-28: 2 scenario(s) run, 1 failing. These do not affect conformance.
  ✗ tasks-lifecycle (extension)
  ✓ json-schema-2020-12 (pending)
`;

test("scenarios of the summary are read, and those that are not scored are told apart", () => {
  assert.deepEqual(parseResults(OUTPUT), {
    scored: [
      { name: "tools-list", passed: 4, failed: 0 },
      { name: "ping", passed: 1, failed: 2 },
    ],
    notScored: [
      { name: "tasks-lifecycle", passed: 1, failed: 8 },
      { name: "json-schema-2020-12", passed: 8, failed: 0 },
    ],
  });
});

test("an output that breaks off before its summary has no scenario", () => {
  assert.deepEqual(parseResults(OUTPUT.slice(0, OUTPUT.indexOf("=== SUMMARY"))), { scored: [], notScored: [] });
});
