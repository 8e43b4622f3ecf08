import assert from "node:assert/strict";
import { test } from "node:test";

import { Case } from "../sdk/typescript/testing.js";
import { postProcessor } from "../src/index.ts";

const given = () => new Case().file("results/global/node.verdicts", "ok   disk\nbad  clock: 3 s behind\n");

test("each line is an item", () => {
  const run = given().run(postProcessor);
  assert.equal(run.outline(), "node.verdicts: -\n  disk: passed\n  clock: failed\n");
  assert.equal(run.item("clock")?.details.failure, "3 s behind");
});

test("what is read does not depend on where the host cuts the file", () => {
  assert.deepEqual(given().chunk(1).run(postProcessor), given().run(postProcessor));
});

test("a file that breaks does not pass", () => {
  const run = new Case().brokenFile("results/global/node.verdicts", "ok disk\n", "the disk is gone").run(postProcessor);
  assert.equal(run.item("unreadable")?.meta.error, "the disk is gone");
});
