/** The role expectations: lists the results that must arrive. */
import { refusePromise, sentence } from "./failure.js";
import { Plugin } from "./plugin.js";
import { text } from "./text.js";

/** The one result of the whole cluster. */
export const GLOBAL = Object.freeze({ global: true });

/** Makes the export `expectations` of a module from `(plugin, podSpec, nodes) => results`. */
export function expectations(expect) {
  return {
    expectedResults(info, podSpec, nodes) {
      try {
        const spec = podSpec == null ? undefined : JSON.parse(podSpec);
        const results = refusePromise(expect(new Plugin(info), spec, nodes.map(nodeFromWire)));
        // Without this, an object that is not a list would mean that no result is expected.
        if (typeof results?.[Symbol.iterator] !== "function") throw new TypeError("the expected results are not a list");
        return Array.from(results, resultToWire);
      } catch (thrown) {
        throw sentence(thrown);
      }
    },
  };
}

function nodeFromWire(node) {
  const { name, taints, ready, unschedulable, os, arch } = node;
  // No prototype, because a label can be named `constructor`.
  const labels = Object.assign(Object.create(null), Object.fromEntries(node.labels));
  return { name, labels, taints, ready, unschedulable, os, arch };
}

function resultToWire(result) {
  if (result === GLOBAL) return { tag: "global" };
  const name = typeof result === "string" ? result : result?.name;
  if (typeof name !== "string") throw new TypeError("an expected result is `GLOBAL`, a node, or a node's name");
  return { tag: "node", val: text(name) };
}
