import assert from "node:assert/strict";
import { test } from "node:test";

import { Case } from "../sdk/javascript/testing.js";
import { judge } from "../src/index.js";

const given = (pattern) =>
  new Case().option("pattern", pattern).option("reason", "it is slow").results("global", [
    { name: "suite", status: "failed" },
    { depth: 1, name: "starts", status: "failed" },
    { depth: 1, name: "[slow] stops", status: "failed" },
    { depth: 1, name: "[slow] starts", status: "passed" },
  ]);

test("failures that match do not count", () => {
  assert.equal(given("[slow] *").judge(judge).outline(), "global/[slow] stops: excused, excused: it is slow\n");
  const excused = { "*": 2, starts: 1, "*st*s": 2, "[slow]": 0, start: 0, "*starts*starts": 0 };
  for (const [pattern, count] of Object.entries(excused)) {
    assert.equal(given(pattern).judge(judge).rulings.length, count, pattern);
  }
});

test("what another judge said stands", () => {
  const earlier = { class: "regression", counts: true, reason: "it passed before" };
  assert.equal(given("*").ruled("starts", earlier).judge(judge).ruling("starts"), undefined);
});

test("an option that is not there is named", () => {
  assert.match(given("*").option("patern", "*").judge(judge).error ?? "", /unknown option `patern`/);
  assert.match(new Case().judge(judge).error ?? "", /`pattern`/);
});
