import assert from "node:assert/strict";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Case } from "../sdk/javascript/testing.js";
import { check } from "../src/index.js";

const given = (value) =>
  new Case().option("settings", { "vm/swappiness": "10" }).nodeFile("/proc/sys/vm/swappiness", value);

test("settings are compared", () => {
  assert.equal(given("10\n").check(check).outline(), "vm/swappiness: passed\n");
  const run = given("60\n").check(check);
  assert.equal(run.outline(), "vm/swappiness: failed\n");
  assert.deepEqual(run.progress.at(-1), { completed: 1, total: 1, message: "done" });
});

test("what cannot be read does not pass", () => {
  // The case grants no directory, as a definition without `grants`.
  const outline = new Case().check(check).outline();
  assert.equal(outline, "fs/protected_hardlinks: unknown\nkernel/panic_on_oops: unknown\n");
  const empty = mkdtempSync(join(tmpdir(), "check-"));
  const run = new Case().nodeDirectory("/proc/sys", empty).check(check);
  rmdirSync(empty);
  assert.equal(run.outline(), "fs/protected_hardlinks: skipped\nkernel/panic_on_oops: skipped\n");
});

test("a misspelled option is an error", () => {
  assert.match(given("10").option("setings", 1).check(check).error ?? "", /`setings`/);
});
