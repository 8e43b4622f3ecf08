import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { check, FileError } from "../index.js";
import { Case } from "../testing.js";

const inventory = check((plugin, context, out) => {
  const { directory = "/etc/app" } = plugin.options;
  for (const { name, type } of context.readDirectory(directory)) {
    const path = `${directory}/${name}`;
    try {
      const content = context.readFile(path);
      out.emit({ name, status: "passed", details: { content, size: context.stat(path).size, type } });
    } catch (error) {
      out.emit({ name, status: "unknown", meta: { error: error.message, code: error.code } });
    }
  }
  context.progress(1, 2, "files");
  const pods = { apiVersion: "v1", resource: "pods", namespace: "kube-system" };
  for (const { metadata } of context.objects(pods)) {
    const known = context.object(pods, metadata.name) && !context.object(pods, "nobody");
    out.emit({ name: metadata.name, status: known ? "passed" : "failed" });
  }
  out.emit({ name: `${context.env("CLUSTER")} ${context.env("HOME")} ${context.now().getUTCFullYear()}`, status: "passed" });
});

function given(t) {
  const place = fs.mkdtempSync(join(os.tmpdir(), "check-"));
  t.after(() => fs.rmSync(place, { recursive: true }));
  const app = join(place, "app");
  fs.mkdirSync(join(app, "sub"), { recursive: true });
  fs.mkdirSync(`${app}-2`);
  fs.writeFileSync(join(app, "b"), "text");
  fs.writeFileSync(join(place, "secret"), "secret");
  fs.symlinkSync("../secret", join(app, "link"));
  execFileSync("mkfifo", [join(app, "pipe")]);
  const pods = ["p", "q", "r", "s"].map((name) => ({ metadata: { name, namespace: "kube-system" } }));
  const other = { metadata: { name: "web", namespace: "default" } };
  return () =>
    new Case()
      .nodeDirectory("/etc/app", app)
      .env("CLUSTER", "test")
      .now(new Date("2030-01-01"))
      .objects("v1", "pods", [...pods, other]);
}

test("a check reads what the case grants", (t) => {
  const make = given(t);
  const run = make().check(inventory);
  assert.equal(run.error, undefined);
  const files = "b: passed\nlink: unknown\npipe: unknown\nsub: unknown\n";
  assert.equal(run.outline(), `${files}p: passed\nq: passed\nr: passed\ns: passed\ntest undefined 2030: passed\n`);
  assert.deepEqual({ ...run.item("b").details }, { content: "text", size: "4", type: "file" });
  assert.equal(run.item("link").meta.error, "failed to read `/etc/app/link`: not permitted");
  assert.equal(run.item("pipe").meta.code, "not-permitted");
  assert.deepEqual(run.progress, [{ completed: 1, total: 2, message: "files" }]);
  assert.equal(make().brokenObjects("v1", "pods", "the API server is gone").check(inventory).error, "the API server is gone");
});

test("what is not granted is named", (t) => {
  const make = given(t);
  for (const other of ["/etc/app-2", "/etc", "etc/app", "/"]) {
    const { error } = make().option("directory", other).check(inventory);
    assert.equal(error, `failed to read \`${other}\`: no granted directory contains it`);
  }
  const { error } = new Case().nodeDirectory("/etc/app", os.tmpdir()).nodeFile("/x", "").check(
    check((_, context) => {
      for (const pod of context.objects({ apiVersion: "v1", resource: "pods" })) assert.fail(pod);
    }),
  );
  assert.equal(error, "the case grants no `pods` of `v1`: add them with `Case.objects`");
});

test("a file in memory is read as lines, and up to a limit", () => {
  const lines = check((_, context, out) => {
    for (const name of context.open("/proc/swaps").lines()) out.emit({ name, status: "passed" });
    assert.throws(() => context.readFile("/proc/none"), (error) => error instanceof FileError && error.code === "not-granted");
    context.readBytes("/proc/swaps", { limit: 3 });
  });
  const run = new Case().nodeFile("/proc/swaps", "one\ntwo\n").check(lines);
  assert.equal(run.outline(), "one: passed\ntwo: passed\n");
  assert.equal(run.error, "failed to read `/proc/swaps`: more than 3 bytes");
});

test("waiting takes no time and advances the clock", (t) => {
  const patient = check((plugin, context, out) => {
    context.sleep(3_600_000);
    out.emit({ name: `${context.now().getUTCHours()}`, status: "passed" });
  });
  const make = given(t);
  for (const run of [make().check(patient), make().check(patient)]) assert.equal(run.outline(), "1: passed\n");
});
