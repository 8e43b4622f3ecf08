import assert from "node:assert/strict";
import { test } from "node:test";

import * as plumbline from "../index.js";
import { Case } from "../testing.js";

/** A module that emits each line of each file as an item. */
const lines = plumbline.postProcessor((_plugin, files, out) => {
  for (const file of files) {
    out.emit({ name: file.name, meta: { file: file.path, size: file.size } });
    try {
      for (const line of file.lines({ limit: 40 })) out.emit({ depth: 1, name: line || "(empty)", status: "passed" });
    } catch (error) {
      out.emit({ depth: 1, name: "unreadable", status: "unknown", meta: { error: error.message } });
    }
  }
});

/** Runs `body` as a module without files. */
const run = (body) => new Case().run(plumbline.postProcessor(body));

test("lines are the same wherever the host cuts the file", () => {
  const text = "one\r\ntwo ä🚦\n\nlast";
  const whole = new Case().file("results/global/a", text).run(lines);
  assert.equal(whole.outline(), "a: -\n  one: passed\n  two ä🚦: passed\n  (empty): passed\n  last: passed\n");
  for (const chunk of [1, 2, 3]) {
    assert.deepEqual(new Case().file("results/global/a", text).chunk(chunk).run(lines), whole);
  }
});

test("a file that breaks, and a line without end, are items and no end", () => {
  const endless = () => Array(1000).fill("aaaa");
  const result = new Case()
    .brokenFile("results/global/a", "one\ntw", "the disk is gone")
    .generatedFile("results/global/b", endless)
    .file("results/global/c", "three")
    .run(lines);
  assert.equal(result.outline(), "a: -\n  one: passed\n  unreadable: unknown\nb: -\n  unreadable: unknown\nc: -\n  three: passed\n");
  assert.equal(result.items[2].meta.error, "the disk is gone");
  assert.equal(result.items[4].meta.error, "line 1 has more than 40 characters");
});

test("a file is read once, and one that is too large is refused", () => {
  const twice = plumbline.postProcessor((_plugin, [file]) => {
    file.text();
    file.text();
  });
  const small = plumbline.postProcessor((_plugin, [file]) => file.bytes({ limit: 3 }));
  const json = plumbline.postProcessor((_plugin, [file]) => file.json());
  const given = () => new Case().file("results/global/a", "{} x");
  assert.equal(given().run(twice).error, "file `results/global/a` was already read: a file can be read only once");
  assert.equal(given().run(small).error, "the file has more than 3 bytes");
  assert.match(given().run(json).error, /^not a JSON document: /);
});

test("a JSON document that would overflow the stack is refused, and brackets in strings are none", () => {
  const module = plumbline.postProcessor((_plugin, [file], out) => out.emit({ name: "read", details: { it: { json: file.json() } } }));
  const read = (text) => new Case().file("results/global/a", text).run(module);
  const nested = (levels) => "[".repeat(levels) + "]".repeat(levels);
  assert.equal(read(nested(512)).error, undefined);
  assert.equal(read(nested(513)).error, "the JSON document is nested more than 512 levels deep");
  assert.match(read(`{"a": [`.repeat(50_000)).error, /nested more than/);
  assert.equal(read(JSON.stringify(["[".repeat(9999), '\\"{'.repeat(9999), "\\\\", nested(5)])).error, undefined);
  assert.match(read(`["${"[".repeat(9999)}`).error, /not a JSON document/);
});

test("an item has everything that it may have", () => {
  const { items, error } = run((_plugin, _files, out) => {
    out.emit({
      name: "root",
      items: [
        { name: "a", status: "warning", meta: { n: 1, none: undefined }, details: { failure: "text", data: { json: { a: [1] } } } },
        { name: "b", status: "failed", items: [{ name: "c", status: "timeout" }] },
      ],
    });
    out.emit({ depth: 1, name: "half \ud800", details: { "\udc00": { json: "\\ud800 \ud800" } } });
  });
  assert.equal(error, undefined);
  assert.deepEqual(items[1], {
    depth: 1,
    name: "a",
    status: "warning",
    meta: { n: "1" },
    details: { failure: "text", data: { json: { a: [1] } } },
  });
  assert.deepEqual(items.map(({ depth }) => depth), [0, 1, 1, 2, 1]);
  assert.deepEqual(items[4].details, { "\ufffd": { json: "\\ud800 \ufffd" } });
  assert.equal(items[4].name, "half \ufffd");
});

test("texts that the host would refuse for their size are cut, and say so", () => {
  const { items } = run((_plugin, _files, out) => {
    out.emit({ name: "🚦".repeat(20_000), details: { a: "x".repeat(4 << 20), b: "y", c: { json: "z" } } });
  });
  assert.ok(new TextEncoder().encode(items[0].name).length < 64 << 10);
  // Do not use `match`, which would print everything.
  assert.ok(items[0].details.a.endsWith("x… (1048576 more characters)"));
  assert.equal(items[0].details.b, "… (1 more characters)");
  assert.equal(items[0].details.c, "(left out: a structure of 3 characters)");
  const [named] = run((_plugin, _files, out) => out.emit({ name: "n".repeat(70_000) })).items;
  assert.equal(named.details.name, "n".repeat(70_000));
});

test("items emitted before a failure stay, and a bug is distinguished from a rejection", () => {
  const decision = run((_plugin, _files, out) => {
    out.emit({ name: "a" });
    throw new Error("option `x` makes no sense");
  });
  assert.equal(decision.error, "option `x` makes no sense");
  assert.equal(decision.outline(), "a: -\n");
  const mistake = run(() => undefined.x);
  assert.match(mistake.error, /^TypeError: /);
  assert.equal(mistake.log[0][0], "error");
  assert.match(run(async () => {}).error, /`async`/);
  assert.match(run((_plugin, _files, out) => out.emit({ name: 3 })).error, /TypeError: the name of an item is a string/);
  assert.match(run((_plugin, _files, out) => out.emit({ name: "x", details: { a: [] } })).error, /neither text nor/);
});

test("a tree of many items goes out in batches, in order", () => {
  const { items } = run((_plugin, _files, out) => {
    for (let i = 0; i < 2000; i++) out.emit({ name: `item ${i}`, status: "passed" });
  });
  assert.equal(items.length, 2000);
  assert.equal(items[1999].name, "item 1999");
});

test("options are an object, and the plugin says who it is", () => {
  let seen;
  const module = plumbline.postProcessor((plugin) => (seen = plugin));
  new Case().plugin({ name: "p", driver: "DaemonSet", expectedResults: 3 }).option("strict", true).run(module);
  assert.deepEqual({ ...seen }, { name: "p", driver: "DaemonSet", format: "", expectedResults: 3, options: { strict: true } });
});

test("what the host would refuse is refused here", () => {
  assert.throws(() => run((_plugin, _files, out) => out.emit({ depth: 1, name: "x" })), /at most 0 can follow/);
  assert.throws(() => run((_plugin, _files, out) => out.emit({ name: "" })), /empty name/);
  assert.throws(() => run((_plugin, _files, out) => out.emit({ name: "x", status: "w".repeat(257) })), /custom status/);
});
