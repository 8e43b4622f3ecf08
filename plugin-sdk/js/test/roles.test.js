import assert from "node:assert/strict";
import { test } from "node:test";

import * as plumbline from "../index.js";
import { Case } from "../testing.js";

test("an expectation sees the nodes and the pod, and names results", () => {
  const labelled = plumbline.expectations((plugin, podSpec, nodes) => {
    const wanted = nodes.filter(({ labels }) => labels[plugin.options.label] === podSpec.nodeSelector.value);
    return [plumbline.GLOBAL, ...wanted];
  });
  const given = new Case()
    .option("label", "constructor")
    .podSpec({ nodeSelector: { value: "yes" } })
    .node("a", { labels: { constructor: "yes" } })
    .node("b");
  assert.deepEqual(given.expected(labelled), ["global", "node/a"]);
});

test("an expectation's failure, and what the host refuses, are said", () => {
  const named = (...results) => plumbline.expectations(() => results);
  const given = () => new Case().node("a");
  assert.deepEqual(given().expected(named("a")), ["node/a"]);
  assert.throws(() => given().expected(named("z")), /unknown node: node\/z/);
  assert.throws(() => given().expected(named("a", "a")), /listed twice/);
  assert.throws(() => given().expected(named(3)), /an expected result is/);
  assert.throws(() => given().expected(plumbline.expectations(() => { throw "no"; })), /^Error: no$/);
});

test("a summarizer reads every entry and adds items", () => {
  const failures = plumbline.summarizer((_plugin, entries, out) => {
    const sets = {};
    for (const { set, item } of entries) if (item.status === "failed") (sets[set] ??= []).push(item.details.why.json);
    out.emit({ name: "failures", status: "passed", details: { sets: { json: sets } } });
  });
  const failed = Array(300).fill({ name: "x", status: "failed", details: { why: { json: 1 } } });
  const run = new Case().results("n2", failed).results("n1", [{ name: "y" }, { depth: 1, name: "z", status: "passed" }]).summarize(failures);
  assert.equal(run.items[0].details.sets.json.n2.length, 300);
  const broken = new Case().results("n1", failed).brokenResults("the disk is gone").summarize(failures);
  assert.equal(broken.error, "the disk is gone");
});

test("a function that nothing would run is an error", () => {
  const failed = [{ name: "x", status: "failed" }];
  const unrun = {
    async waiting() {},
    *yielding(_plugin, _input, out) {
      out.emit({ name: "a" });
    },
    async *both() {},
  };
  for (const body of Object.values(unrun)) {
    const errors = [
      new Case().file("results/global/a", "bad").run(plumbline.postProcessor(body)).error,
      new Case().results("n", failed).summarize(plumbline.summarizer(body)).error,
      new Case().results("n", failed).judge(plumbline.judge(body)).error,
      new Case().check(plumbline.check(body)).error,
    ];
    for (const error of errors) assert.match(error, /make it a plain function$/, body.name);
  }
});

test("expected results are a list, which may come from a generator", () => {
  const expected = (body) => new Case().expected(plumbline.expectations(body));
  assert.deepEqual(expected(function* () { yield plumbline.GLOBAL; }), ["global"]);
  for (const body of [() => plumbline.GLOBAL, () => 3, () => undefined, async function* () { yield plumbline.GLOBAL; }]) {
    assert.throws(() => expected(body), /the expected results are not a list/);
  }
});
