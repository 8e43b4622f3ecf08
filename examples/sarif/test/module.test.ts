import assert from "node:assert/strict";
import { test } from "node:test";

import { Case } from "../../../plugin-sdk/js/testing.js";
import { postProcessor } from "../src/index.ts";

const FILE = "results/global/scan.sarif";

/** A log with one run, which is `run` and what every run has. */
function log(run: object): string {
  return JSON.stringify({ version: "2.1.0", runs: [{ tool: { driver: { name: "T" } }, ...run }] });
}

const run = (document: string) => new Case().file(FILE, document).run(postProcessor);
const result = (more: object) => ({ ruleId: "R", message: { text: "said" }, ...more });
const statusOf = (more: object) => run(log({ results: [result(more)] })).items.at(-1)?.status;

test("the level of a result decides, and options say what fails", () => {
  assert.equal(statusOf({ level: "error" }), "failed");
  assert.equal(statusOf({ level: "note" }), "note");
  // Neither the result nor its rule has a level: a warning (3.27.10).
  assert.equal(statusOf({}), "warning");
  assert.equal(statusOf({ level: "fatal" }), "unknown");
  const strict = new Case().option("fail-on", ["error", "warning"]).file(FILE, log({ results: [result({})] }));
  assert.equal(strict.run(postProcessor).items.at(-1)?.status, "failed");
});

test("suppressions count when all of them are accepted, and only then", () => {
  const suppressed = (...suppressions: object[]) => statusOf({ level: "error", suppressions });
  assert.equal(suppressed(), "failed");
  assert.equal(suppressed({ kind: "inSource" }), "skipped");
  assert.equal(suppressed({ kind: "external", status: "rejected" }), "failed");
  assert.equal(suppressed({ kind: "external", status: "underReview" }), "failed");
  assert.equal(suppressed({ kind: "inSource" }, { kind: "external", status: "accepted" }), "skipped");
  assert.equal(suppressed({ kind: "external", status: "rejected" }, { kind: "external", status: "accepted" }), "failed");
  assert.equal(suppressed({ kind: "inSource" }, { kind: "external", status: "underReview" }), "failed");
});

test("a message is looked up with its arguments", () => {
  const rules = [{ id: "R", messageStrings: { default: { text: "'{0}' is {1}, {{0}} {2}" } } }];
  const message = { id: "default", arguments: ["x", "unused"] };
  const item = run(log({ tool: { driver: { name: "T", rules } }, results: [{ ruleId: "R/1", message }] })).items.at(-1);
  assert.equal(item?.details.failure, "'x' is unused, {0} {2}");
});

test("a run without results has passed only if the tool says that it looked", () => {
  assert.equal(run(log({ results: [] })).items[1]?.status, "passed");
  assert.equal(run(log({})).items.at(-1)?.status, "unknown");
  assert.equal(run(log({ results: [], invocations: [{ executionSuccessful: false }] })).items.at(-1)?.status, "unknown");
});

test("a misspelt option is named", () => {
  const failed = (key: string, value: unknown) => new Case().option(key, value).run(postProcessor).error;
  assert.match(failed("fail_on", []) ?? "", /unknown option `fail_on`/);
  assert.match(failed("fail-on", "error") ?? "", /must be a list/);
  assert.match(failed("fail-on", ["fatal"]) ?? "", /names `fatal`/);
  assert.match(failed("fail-on", []) ?? "", /nothing could fail/);
});

test("any JSON document is stood", () => {
  const values = [null, 1, "x", [], {}, [null], [{}], { a: 1 }, -1, true];
  const keys = ["tool", "results", "invocations", "artifacts", "logicalLocations", "externalPropertyFileReferences"];
  const inside = ["message", "locations", "rule", "ruleIndex", "suppressions", "provenance", "relatedLocations", "kind", "level", "ruleId"];
  for (const value of values) {
    for (const key of keys) assert.equal(run(log({ results: [], [key]: value })).error, undefined, `${key} ${JSON.stringify(value)}`);
    for (const key of inside) {
      const document = log({ results: [result({ [key]: value })], invocations: [value], artifacts: [value] });
      assert.equal(run(document).error, undefined, `${key} ${JSON.stringify(value)}`);
    }
    assert.equal(run(JSON.stringify(value)).error, undefined);
  }
});
