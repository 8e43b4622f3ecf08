/**
 * Labels of nodes with GPUs, set by the node labellers of vendors, by node feature discovery and by clouds. The number of GPUs (the
 * node's capacity) is not passed to modules.
 */
const DEFAULT_LABELS = [
  "nvidia.com/gpu.present=true",
  "amd.com/gpu",
  "amd.com/gpu.device-id",
  "intel.feature.node.kubernetes.io/gpu=true",
  "cloud.google.com/gke-accelerator",
  "k8s.amazonaws.com/accelerator",
  "kubernetes.azure.com/accelerator",
];

/** Tells whether a node has a GPU. Throws an error for a misspelt option, which must not change the expected nodes. */
export function labelMatcher(options) {
  for (const key of Object.keys(options)) {
    if (key !== "labels") throw new Error(`unknown option \`${key}\`: the only option of \`gpu-nodes\` is \`labels\``);
  }
  const labels = options.labels ?? DEFAULT_LABELS;
  if (!Array.isArray(labels) || labels.length === 0 || !labels.every((label) => typeof label === "string" && /^[^=]+(=.*)?$/.test(label))) {
    throw new Error("the option `labels` must be a list of labels, each `KEY` or `KEY=VALUE`");
  }
  const wanted = labels.map((label) => {
    const at = label.indexOf("=");
    return at < 0 ? { key: label } : { key: label.slice(0, at), value: label.slice(at + 1) };
  });
  return ({ labels: has }) => wanted.some(({ key, value }) => (value === undefined ? key in has : has[key] === value));
}
