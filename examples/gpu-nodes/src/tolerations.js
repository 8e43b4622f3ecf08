// Taints and tolerations, as Kubernetes documents them: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/

/** The first taint that keeps the pod away. `PreferNoSchedule` keeps no pod away. */
export function untolerated(taints, tolerations) {
  const list = Array.isArray(tolerations) ? tolerations : [];
  return taints.find((taint) => taint.effect !== "PreferNoSchedule" && !list.some((toleration) => tolerates(toleration, taint)));
}

function tolerates(toleration, taint) {
  if (toleration === null || typeof toleration !== "object") return false;
  const { key = "", operator = "Equal", value = "", effect = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  // An empty key matches every key, and is allowed with `Exists` only.
  if (key === "") return operator === "Exists";
  return key === taint.key && (operator === "Exists" || (operator === "Equal" && value === taint.value));
}
