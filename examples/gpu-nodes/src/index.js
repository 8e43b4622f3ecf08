// The expected nodes: each node with a GPU on which the plugin's pod can run.
import * as plumbline from "../../../plugin-sdk/js/index.js";
import { labelMatcher } from "./options.js";
import { untolerated } from "./tolerations.js";

export const expectations = plumbline.expectations((plugin, podSpec, nodes) => {
  const hasGpu = labelMatcher(plugin.options);
  const expected = [];
  const left = new Map();
  for (const node of nodes) {
    const reason = hasGpu(node) ? cannotRun(node, podSpec) : "without a label of a GPU";
    if (reason === undefined) expected.push(node);
    else left.set(reason, (left.get(reason) ?? 0) + 1);
  }
  if (expected.length === 0) {
    // An empty list would look like a success.
    const reasons = [...left].map(([reason, count]) => `${count} ${reason}`).join(", ");
    throw new Error(`no node is expected, of ${nodes.length}${reasons === "" ? "" : `: ${reasons}`}`);
  }
  return expected;
});

/** Why the pod cannot run on a node, or not now. `undefined`: it can. */
function cannotRun(node, podSpec) {
  if (!node.ready) return "not ready";
  if (node.unschedulable) return "cordoned";
  // Without a pod specification, the driver uses its own, which tolerates everything.
  if (podSpec === undefined) return undefined;
  const selector = podSpec.nodeSelector ?? {};
  if (Object.entries(selector).some(([label, value]) => node.labels[label] !== value)) return "outside the node selector";
  const taint = untolerated(node.taints, podSpec.tolerations ?? []);
  return taint === undefined ? undefined : `with the taint ${taint.key}, which the pod does not tolerate`;
}
