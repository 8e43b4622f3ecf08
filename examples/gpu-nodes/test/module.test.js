import assert from "node:assert/strict";
import { test } from "node:test";

import { Case } from "../../../plugin-sdk/js/testing.js";
import { expectations } from "../src/index.js";

const gpu = { labels: { "nvidia.com/gpu.present": "true" } };
const tainted = (...taints) => ({ ...gpu, taints });

test("nodes with a GPU that can run the pod are expected", () => {
  const given = new Case()
    .node("plain")
    .node("gpu", gpu)
    .node("absent", { labels: { "nvidia.com/gpu.present": "false" } })
    .node("down", { ...gpu, ready: false })
    .node("cordoned", { ...gpu, unschedulable: true })
    .node("cloud", { labels: { "cloud.google.com/gke-accelerator": "nvidia-l4" } });
  assert.deepEqual(given.expected(expectations), ["node/gpu", "node/cloud"]);
});

test("without a pod specification every taint is tolerated, with one those that it names", () => {
  const nodes = () => new Case().node("a", gpu).node("b", tainted({ key: "nvidia.com/gpu", value: "present" }));
  assert.deepEqual(nodes().expected(expectations), ["node/a", "node/b"]);
  const with_ = (...tolerations) => nodes().podSpec({ tolerations }).expected(expectations);
  assert.deepEqual(with_(), ["node/a"]);
  assert.deepEqual(with_({ operator: "Exists" }), ["node/a", "node/b"]);
  assert.deepEqual(with_({ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" }), ["node/a", "node/b"]);
  assert.deepEqual(with_({ key: "nvidia.com/gpu", value: "present" }), ["node/a", "node/b"]);
  assert.deepEqual(with_({ key: "nvidia.com/gpu", value: "other" }), ["node/a"]);
  assert.deepEqual(with_({ key: "nvidia.com/gpu", operator: "Exists", effect: "NoExecute" }), ["node/a"]);
  assert.deepEqual(with_({ key: "" }, null, 3), ["node/a"]);
});

test("a taint that only prefers other pods keeps nobody away, and a node selector does", () => {
  const given = new Case()
    .podSpec({ nodeSelector: { pool: "gpu" } })
    .node("a", { labels: { ...gpu.labels, pool: "gpu" }, taints: [{ key: "x", effect: "PreferNoSchedule" }] })
    .node("b", gpu);
  assert.deepEqual(given.expected(expectations), ["node/a"]);
});

test("labels are the definition's to choose", () => {
  const given = (...labels) => new Case().option("labels", labels).node("a", { labels: { accelerator: "x" } }).node("b", gpu);
  assert.deepEqual(given("accelerator").expected(expectations), ["node/a"]);
  assert.throws(() => given("accelerator=y").expected(expectations), /no node is expected, of 2: 2 without a label of a GPU/);
  for (const wrong of [[""], ["=x"], [3], []]) assert.throws(() => given(...wrong).expected(expectations), /must be a list of labels/);
  assert.throws(() => new Case().option("label", []).expected(expectations), /unknown option `label`/);
});

test("that nobody is expected is said with the reasons", () => {
  const given = new Case().podSpec({}).node("plain").node("down", { ...gpu, ready: false }).node("tainted", tainted({ key: "gpu" }));
  const reasons = "1 without a label of a GPU, 1 not ready, 1 with the taint gpu, which the pod does not tolerate";
  assert.throws(() => given.expected(expectations), new Error(`no node is expected, of 3: ${reasons}`));
  assert.throws(() => new Case().expected(expectations), new Error("no node is expected, of 0"));
});
