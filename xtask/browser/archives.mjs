// Archives with generated results, as directories. Their trees are written as Plumbline writes them.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const quoted = JSON.stringify;

/** Returns the YAML of an item and its children, in the form that Plumbline reads item by item. */
function yaml(item, level) {
  const indent = "  ".repeat(Math.max(0, level)), first = level < 0 ? "" : `${indent}- `;
  const rest = level < 0 ? "" : `${indent}  `;
  const lines = [`${first}name: ${quoted(item.name)}`, `${rest}status: ${item.status}`];
  for (const section of ["meta", "details"]) {
    if (!item[section]) continue;
    lines.push(`${rest}${section}:`);
    for (const [key, value] of Object.entries(item[section])) lines.push(`${rest}  ${key}: ${quoted(value)}`);
  }
  if (item.items) {
    lines.push(`${rest}items:`);
    for (const child of item.items) lines.push(yaml(child, level + 1));
  }
  return lines.join("\n");
}

/** The UID of the cluster of every archive. */
export const CLUSTER = "0b5f8a4e-1111-4222-8333-444444444444";

/** Writes an archive with these files and the result trees of these plugins. */
export function archive(dir, plugins, files = {}) {
  const write = (name, text) => {
    const path = join(dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  write("meta/info.json", JSON.stringify({ plugins: plugins.map(({ name }) => name), cluster: { uid: CLUSTER } }));
  write("meta/config.json", JSON.stringify({ Version: "v0.57.0", PlumblineVersion: "0.1.0", PlumblineStarted: "2026-11-25T09:00:00Z", UUID: "7f3a9c00-0000-4000-8000-000000000000" }));
  write("meta/run.log", `{"time":"2026-11-25T09:00:00Z","msg":"start"}\n{"time":"2026-11-25T10:30:00Z","msg":"end"}\n`);
  for (const [name, value] of Object.entries(files)) write(name, typeof value === "string" ? value : JSON.stringify(value));
  for (const plugin of plugins) write(`plugins/${plugin.name}/sonobuoy_results.yaml`, `${yaml({ meta: { type: "summary" }, ...plugin }, -1)}\n`);
  return dir;
}

/** Numbers that look random and are the same in every run. */
function* noise() {
  for (let state = 42; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state;
  }
}

const SIGS = ["sig-apps", "sig-network", "sig-node", "sig-storage", "sig-api-machinery", "sig-auth", "sig-cli"];
const REASONS = ["timed out waiting for the condition", "dial tcp 10.0.0.1:443: connect: connection refused", "Expected 3 endpoints, got 2", "pod was evicted: node was low on memory"];

/** A plugin like the conformance suite, with `count` tests. Every 50th fails. `factor` changes durations. */
export function suite(count, more = [], factor = 1) {
  const next = noise();
  const tests = Array.from({ length: count }, (_, n) => {
    const sig = SIGS[next.next().value % SIGS.length], failed = n % 50 === 7, skipped = !failed && n % 5 === 0;
    const name = `[It] [${sig}] Volumes and services number ${n} should keep their contents when pod ${next.next().value.toString(36)} is replaced by another of the same workload [Conformance]`;
    if (skipped) return { name, status: "skipped" };
    const meta = { classname: "Kubernetes e2e suite", duration: String((factor * (next.next().value % 60000)) / 1000) };
    if (!failed) return { name, status: "passed", meta };
    const reason = REASONS[n % REASONS.length];
    return { name, status: "failed", meta, details: { failure: `/go/src/test.go:${n}\n${reason}\n\n${"  at k8s.io/kubernetes/test/e2e\n".repeat(8)}` } };
  });
  const file = { name: "junit_01.xml", status: "failed", meta: { file: "results/global/junit_01.xml", type: "file" }, items: [{ name: "Kubernetes e2e suite", status: "failed", items: [...tests, ...more] }] };
  return { name: "e2e", status: "failed", items: [file] };
}

/** A plugin with results of `count` checks per node. Checks fail on nodes with an old kernel. */
export function sweep(nodes, count) {
  const items = Array.from({ length: nodes }, (_, n) => {
    const old = isOld(n);
    const checks = Array.from({ length: count }, (_, check) => {
      const failed = old && check % 10 === 3;
      return { name: `check ${check}: the setting is as the baseline wants it`, status: failed ? "failed" : "passed", ...(failed ? { details: { failure: `the kernel of node-${n} lacks a feature` } } : {}) };
    });
    return { name: `node-${n}`, status: old ? "failed" : "passed", meta: { type: "node" }, items: checks };
  });
  return { name: "node-check", status: "failed", items };
}

/** A recording in which a node was not ready while the plugins ran, and a pod could not be scheduled. */
export function timeline(plugins) {
  const at = (minute) => `2026-11-25T09:${String(minute).padStart(2, "0")}:00Z`;
  const plugin = (minute, change) => plugins.map((plugin) => ({ time: at(minute), kind: "plugin", change, plugin }));
  const state = (minute, change) => ({ time: at(minute), kind: "node-condition", change, name: "Ready", node: "node-5", text: "Ready is Unknown: Kubelet stopped" });
  const warning = { time: at(20), kind: "scheduling", name: "FailedScheduling", namespace: "apps", pod: "web-1", text: "FailedScheduling: <img onerror> 0/2 nodes" };
  const entries = [...plugin(1, "start"), state(10, "start"), warning, state(30, "end"), ...plugin(59, "end")];
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

const isOld = (n) => n % 12 === 5;

/** The nodes of the cluster, as the API server returns them. */
export const nodeList = (nodes) => Array.from({ length: nodes }, (_, n) => ({
  metadata: { name: `node-${n}`, labels: { "kubernetes.io/hostname": `node-${n}`, "topology.kubernetes.io/zone": `zone-${n % 3}` } },
  status: { nodeInfo: { kernelVersion: isOld(n) ? "6.1.0-17-amd64" : "6.1.0-18-amd64", osImage: "Debian GNU/Linux 12 (bookworm)", kubeletVersion: "v1.36.3" } },
}));

/** Names and texts that try to break out of the page, and a log with colours. */
export const HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'> [It] \u202e\u001b[31m";

/** The logs of the pods of `suite` and `sweep`, and the list of pods, which says where they ran. */
function logs() {
  const pod = "sonobuoy-node-check-daemon-set-ffed1e6f44474c9e-4twsk";
  return {
    "podlogs/sonobuoy/sonobuoy-e2e-job-e26600506d6c420f/logs/e2e.txt": "Running Suite: Kubernetes e2e suite\n",
    [`podlogs/sonobuoy/${pod}/logs/check.txt`]: "checking node-5\n\u001b[31mthe kernel is too old\u001b[0m\n",
    "resources/ns/sonobuoy/core_v1_pods.json": [{ metadata: { name: pod }, spec: { nodeName: "node-5" } }],
  };
}

const EXCUSED = { name: "[It] [sig-network] a test that is known to fail", status: "failed", meta: { duration: "3" }, details: { failure: "no UDP" } };

/** An archive for pictures. `more` are tests of the suite. */
export function sample(dir, more = []) {
  const drift = { name: "drift", status: "warning", meta: { type: "summary" }, items: [{ name: "kernel: 1 of 12 nodes differs", status: "warning", meta: { fact: "kernel" },
    details: { differing: [{ names: ["node-5"], nodes: 1, value: "6.1.0-17-amd64" }], majority: { nodes: 11, value: "6.1.0-18-amd64" }, warning: "node-5: 6.1.0-17-amd64" } }] };
  const files = {
    ...logs(), "meta/timeline.jsonl": timeline(["e2e", "node-check"]),
    "serverversion.json": { gitVersion: "v1.36.3" }, "resources/cluster/core_v1_nodes.json": nodeList(12),
    "plugins/e2e/plumbline_verdict.json": { version: 1, plugin: "e2e", status: "failed", failures: 9 + more.length, excused: 1, counting: 8 + more.length, chain: [{ judge: "known-failures" }],
      classes: { "known-failure": { items: 1, counting: 0, failures: 1 } },
      items: [{ set: "global", path: ["junit_01.xml", "Kubernetes e2e suite", EXCUSED.name], status: "failed", class: "known-failure", counts: false, reason: "UDP is off in this network", source: "known.yaml", judge: "known-failures" }],
      checks: [{ id: "PODS-001", name: "pods are healthy", outcome: "failed", want: ">= 98 %", got: "96 %", judge: "checks" }] },
  };
  return archive(dir, [suite(400, [...more, EXCUSED]), sweep(12, 8), { name: "host-facts", status: "warning: 1", items: [drift] }], files);
}

/** The same archive with names and texts that try to break out of the page. */
export function mixed(dir) {
  const hostile = { name: HOSTILE, status: "failed", meta: { duration: "700" }, details: {
    "failure-message": HOSTILE, failure: `${HOSTILE} body`, "system-out": `plain \u001b[1;31mred and bold\u001b[0m then \u001b[42mgreen behind\u001b[0m\n${"a line of a long log\n".repeat(4000)}the end`,
    map: { "</script>": ["<b>"] } } };
  return sample(dir, [hostile]);
}
