import assert from "node:assert/strict";
import { test } from "node:test";

import * as plumbline from "../index.js";
import { shorten } from "../lib/text.js";
import { Case } from "../testing.js";

const judge = plumbline.judge((plugin, tree, evidence, out) => {
  const known = new Set(evidence.flatMap((file) => [...file.lines()]));
  const read = [...tree];
  for (const judged of read) {
    if (!judged.isFailure || judged.ruling || !known.has(judged.item.name)) continue;
    out.rule(judged, { class: "known-failure", counts: false, reason: `in ${judged.set}`, source: "the list" });
  }
  for (const [index, word] of plugin.options.rule ?? []) out.rule(index, { class: word, counts: true, reason: "ü".repeat(5000) });
  for (const id of plugin.options.checks ?? []) out.report({ id, name: "as asked", outcome: "failed", want: 1, got: read.length });
  if (plugin.options.fail) throw "no";
});

function given() {
  const suite = [
    { name: "suite", status: "failed" },
    { depth: 1, name: "a", status: "failed" },
    { depth: 1, name: "b", status: "timeout" },
    { depth: 1, name: "c", status: "passed" },
  ];
  const sum = [{ name: "sum", status: "failed" }];
  return new Case().file("data/known.txt", "a\nb\nc\n").results("n2", suite).results("", sum).results("n1", suite);
}

test("a judge rules on leaves and reports checks", () => {
  const judged = given().ruled("b", { class: "flaky", counts: true }).option("checks", ["A-1"]).judge(judge);
  assert.equal(judged.error, undefined);
  assert.equal(
    judged.outline(),
    "n1/a: known-failure, excused: in n1\nn2/a: known-failure, excused: in n2\nn2/b: known-failure, excused: in n2\nA-1: failed\n",
  );
  assert.deepEqual([judged.check("A-1").got, judged.check("A-1").want, judged.tree.at(-1).set], ["9", "1", ""]);
  assert.equal(judged.ruling("a").source, "the list");
  assert.equal(judged.ruling("b"), undefined, "the one of the first node has its ruling");
  assert.equal(judged.tree[2].ruling.class, "flaky");
});

test("more than a batch goes through, and long texts are cut", () => {
  const many = new Case().file("data/known.txt", "x\n").results("n", Array(3000).fill({ name: "x", status: "failed" }));
  const judged = many.option("rule", [[0, "again"]]).judge(judge);
  assert.equal(judged.rulings.length, 3001);
  assert.deepEqual([judged.ruling("x").class, judged.ruling("x").counts], ["again", true]);
  assert.ok(judged.ruling("x").reason.endsWith("ü…"));
  for (const character of ["a", "ü", "…", "😀"]) {
    for (const length of [1, 1023, 1024, 1366, 2049, 4095, 4096, 4097]) {
      const text = character.repeat(length);
      const cut = shorten(text, 4096);
      const bytes = (string) => new TextEncoder().encode(string).length;
      assert.ok(bytes(cut) <= 4096 && cut.isWellFormed(), `${character} ${length}`);
      assert.equal(cut === text, bytes(text) <= 4096, `${character} ${length}`);
    }
  }
});

test("what the host refuses is refused", () => {
  const refused = (key, value, problem) => assert.throws(() => given().option(key, value).judge(judge), problem);
  refused("rule", [[0, "x"]], /the host refuses this: item 0 \(`suite`\) has a ruling, but is not a leaf/);
  refused("rule", [[9, "x"]], /item 9 has a ruling, but only 9 items were given/);
  refused("checks", ["A", "A"], /check `A` is reported twice/);
  refused("checks", [...Array(10_001).keys()].map(String), /more than 10000 checks/);
});

test("a mistake is a sentence, and what was said before stays", () => {
  const said = (key, value) => {
    const judged = given().option(key, value).judge(judge);
    assert.equal(judged.rulings.length, 4);
    return judged.error;
  };
  assert.match(said("rule", [[1, "Not A Class"]]), /^TypeError: a class has 1 to 64 of the characters/);
  assert.match(said("rule", [["1", "x"]]), /^TypeError: a ruling is on an item of the tree/);
  assert.match(said("checks", [""]), /^TypeError: the id of a check has 1 to 64 characters/);
  assert.equal(said("fail", true), "no");
  assert.equal(given().brokenResults("the disk is gone").judge(judge).error, "the disk is gone");
});
