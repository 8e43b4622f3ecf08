import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { check, FileError, NetworkError } from "../index.js";
import { Case } from "../testing.js";

const refused = new NetworkError("refused", "refused");

function status(result) {
  if (!(result instanceof NetworkError)) return "passed";
  return result.isOfTarget ? "failed" : "unknown";
}

const reach = check((_, context, out) => {
  const response = context.send({ url: "https://a.example/", trust: "any" });
  assert.throws(() => context.send({ url: "https://a.example/", trust: "all" }), TypeError);
  out.emit({ name: `${response.status} ${response.header("server")} ${response.header("x")} ${response.text()}`, status: "passed" });
  for (const port of [70000, -1, 1.5, "443"]) assert.throws(() => context.connect([{ host: "192.0.2.1", port }]), RangeError);
  // More than one chunk of the host.
  const targets = Array.from({ length: 1030 }, (_, port) => ({ host: "192.0.2.1", port }));
  const results = context.connect(targets, { wait: 1000 });
  assert.equal(results.length, 1030);
  for (const port of [443, 22, 1029]) out.emit({ name: `${port}`, status: status(results[port]) });
  out.emit({ name: context.resolve("a.example").join(" "), status: "passed" });
  context.resolve("b.example");
});

test("a check reaches what the case grants", () => {
  const given = new Case()
    .response("GET", "https://a.example/", { status: 503, headers: [["server", "b"]], body: "text" })
    .name("a.example", ["192.0.2.1"])
    .connection("192.0.2.1", 443, { address: "192.0.2.1:443" })
    .connection("192.0.2.1", 22, refused);
  const run = given.check(reach);
  assert.equal(run.outline(), "503 b undefined text: passed\n443: passed\n22: failed\n1029: unknown\n192.0.2.1: passed\n");
  assert.equal(run.error, "the case does not grant `b.example`: add it with `Case.name`");
  assert.equal(given.response("GET", "https://a.example/", refused).check(reach).error, "refused");
});

test("a check reads owners and modes", (t) => {
  const place = fs.mkdtempSync(join(os.tmpdir(), "check-"));
  t.after(() => fs.rmSync(place, { recursive: true }));
  fs.writeFileSync(join(place, "key"), "");
  const codes = [];
  const owners = check((_, context, out) => {
    for (const path of ["/etc/key", "/etc", "/etc/none", "/var"]) {
      try {
        const { mode, permissions, uid, gid } = context.attributes(path);
        out.emit({ name: `${path} ${mode.toString(8)} ${permissions.toString(8)} ${uid} ${gid}`, status: "passed" });
      } catch (error) {
        assert.ok(error instanceof FileError);
        codes.push(error.code);
      }
    }
  });
  const run = new Case().nodeDirectory("/etc", place).attributes("/etc/key", { permissions: 0o600, uid: 1, gid: 2 }).check(owners);
  assert.equal(run.outline(), "/etc/key 100600 600 1 2: passed\n/etc 40755 755 0 0: passed\n");
  assert.deepEqual([run.error, codes], [undefined, ["not-found", "not-granted"]]);
});
