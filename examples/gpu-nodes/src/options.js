/**
 * Labels that say that a node has GPUs, put there by vendors' node labellers, by node feature discovery and by clouds. How many there are (the
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

/** From the options to a function that tells whether a node has a GPU. Throws a sentence: a misspelt option must not change who is expected. */
export function labelMatcher(options) {
  for (const key of Object.keys(options)) {
    if (key !== "labels") throw new Error(`unknown option \`${key}\`: the only option of \`gpu-nodes\` is \`labels\``);
  }
  const labels = options.labels ?? DEFAULT_LABELS;
  if (!Array.isArray(labels) || labels.length === 0 || !labels.every((label) => typeof label === "string" && /^[^=]+(=.*)?$/.test(label))) {
    throw new Error("the option `labels` is a list of labels, each `KEY` or `KEY=VALUE`");
  }
  const wanted = labels.map((label) => {
    const at = label.indexOf("=");
    return at < 0 ? { key: label } : { key: label.slice(0, at), value: label.slice(at + 1) };
  });
  return ({ labels: has }) => wanted.some(({ key, value }) => (value === undefined ? key in has : has[key] === value));
}
