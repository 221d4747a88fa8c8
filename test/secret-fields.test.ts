import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applyForm,
  type FormField,
  type FormValues,
  type Submitted,
  showForm,
} from "../server/connections/secret-fields.ts";

const FIELDS: FormField[] = [
  { name: "site", secret: false, required: true },
  { name: "token", secret: true, required: true },
  {
    name: "variables",
    rows: [
      { name: "name", secret: false, required: true },
      { name: "value", secret: true, required: true },
    ],
  },
];

/** Applies forms one after the other, as edits over time; ids count up. */
function edits(...forms: Submitted[]) {
  let next = 0;
  let values: FormValues | undefined;
  let missing: readonly string[] = [];
  for (const form of forms) ({ values, missing } = applyForm(FIELDS, values, form, () => `row-${++next}`));
  assert.ok(values);
  return { ...values, missing };
}

const row = (name: string, value: string, id?: string) => ({
  cells: { name, value },
  ...(id === undefined ? {} : { id }),
});
const first: Submitted = { site: "acme", token: "t-1", variables: [row("A", "a-1"), row("B", "b-1")] };

test("a blank secret keeps the stored one, a blank plain value is deleted", () => {
  const { plain, secrets, missing } = edits(first, { site: "  ", token: "", variables: [] });
  assert.deepEqual(secrets, { token: "t-1" });
  assert.deepEqual(plain, { variables: [] });
  assert.deepEqual(missing, ["site"]);
  assert.equal(edits(first, { token: "   " }).secrets["token"], "t-1");
  assert.equal(edits(first, { token: "t-2" }).secrets["token"], "t-2");
});

test("what is not in the form stays as it was", () => {
  const { plain, secrets, missing } = edits(first, {});
  assert.deepEqual({ plain, secrets, missing }, edits(first));
});

test("a row keeps its id and its secret when others come, go or change places", () => {
  const { plain, secrets } = edits(first, {
    variables: [row("NEW", "n-1"), row("B", "", "row-2"), row("A", "a-2", "row-1")],
  });
  assert.deepEqual(plain["variables"], [
    { id: "row-3", cells: { name: "NEW" } },
    { id: "row-2", cells: { name: "B" } },
    { id: "row-1", cells: { name: "A" } },
  ]);
  assert.deepEqual(secrets["variables"], {
    "row-3": { value: "n-1" },
    "row-2": { value: "b-1" },
    "row-1": { value: "a-2" },
  });
});

test("a renamed row keeps its secret, and a deleted one loses it for good", () => {
  const renamed = edits(first, { variables: [row("RENAMED", "", "row-1")] });
  assert.deepEqual(renamed.secrets["variables"], { "row-1": { value: "a-1" } });
  const { secrets, missing } = edits(
    first,
    { variables: [row("B", "", "row-2")] },
    { variables: [row("A", "", "row-1"), row("B", "", "row-2")] },
  );
  assert.deepEqual(secrets["variables"], { "row-2": { value: "b-1" } });
  assert.deepEqual(missing, ["variables.1.value"]);
});

test("an id that is not of this list, or comes twice, takes nobody's secret", () => {
  const { plain, secrets } = edits(first, {
    variables: [row("X", "", "row-9"), row("A", "", "row-1"), row("COPY", "", "row-1")],
  });
  assert.deepEqual(secrets["variables"], { "row-1": { value: "a-1" } });
  assert.deepEqual(plain["variables"], [
    { id: "row-3", cells: { name: "X" } },
    { id: "row-1", cells: { name: "A" } },
    { id: "row-4", cells: { name: "COPY" } },
  ]);
});

test("a row that was added and left empty is none; a required cell without a value is named", () => {
  const { plain, missing } = edits({ ...first, token: "", variables: [row("", ""), row("A", "")] });
  assert.deepEqual(plain["variables"], [{ id: "row-2", cells: { name: "A" } }]);
  assert.deepEqual(missing, ["token", "variables.1.value"]);
});

test("what a page shows says which secrets there are, and holds none", () => {
  const stored = edits(first, { variables: [row("A", "", "row-1"), row("C", "")] });
  const shown = showForm(FIELDS, stored);
  assert.deepEqual(shown, [
    { name: "site", value: "acme", isSet: true },
    { name: "token", value: "", isSet: true },
    {
      name: "variables",
      rows: [
        {
          id: "row-1",
          cells: [
            { name: "name", value: "A", isSet: true },
            { name: "value", value: "", isSet: true },
          ],
        },
        {
          id: "row-3",
          cells: [
            { name: "name", value: "C", isSet: true },
            { name: "value", value: "", isSet: false },
          ],
        },
      ],
    },
  ]);
  assert.doesNotMatch(JSON.stringify(shown), /t-1|a-1|b-1/);
  assert.deepEqual(showForm(FIELDS, undefined)[1], { name: "token", value: "", isSet: false });
});
