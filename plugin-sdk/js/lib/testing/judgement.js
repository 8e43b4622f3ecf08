/** A host for judges: delivers the tree, and checks rulings and checks as the real host does. */
import { judgedItem } from "../judge.js";

/** Most checks that the host accepts in one call. */
const MAX_CHECKS = 10_000;

/** Numbers the entries as the host does: by the names of their sets, those of a summarizer last. */
export function wireTree(entries, ruled) {
  const order = (set) => (set === "" ? [1, ""] : [0, set]);
  const sorted = [...entries].sort((one, other) => compare(order(one.set), order(other.set)));
  const tree = sorted.map(({ set, item }, index) => {
    const below = sorted[index + 1];
    return { index, set, item, leaf: !below || below.set !== set || below.item.depth <= item.depth, ruling: null };
  });
  for (const [name, ruling] of ruled) {
    const given = tree.find(({ leaf, item }) => leaf && item.name === name);
    if (!given) throw new Error(`no leaf of the results is called ${name}`);
    given.ruling = { reason: "", source: "", ...ruling };
  }
  return tree;
}

function compare([first, one], [second, other]) {
  if (first !== second) return first - second;
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The outcome of a native run of a judge. */
export class Judged {
  tree = [];
  rulings = [];
  checks = [];
  error = undefined;
  log = [];

  constructor(tree) {
    this.tree = tree.map(judgedItem);
  }

  /** Returns this judge's ruling on the first leaf with that name. */
  ruling(name) {
    const judged = this.tree.find(({ leaf, item }) => leaf && item.name === name);
    return judged && this.#last(judged.index);
  }

  /** Returns the check with that ID. */
  check(id) {
    return this.checks.find((check) => check.id === id);
  }

  /**
   * Returns a line `set/name: class, counts: reason` (or `excused`) for each item with a ruling,
   * then a line `id: outcome` for each check.
   */
  outline() {
    const lines = [];
    for (const { index, set, item } of this.tree) {
      const ruling = this.#last(index);
      if (ruling) lines.push(`${set}/${item.name}: ${ruling.class}, ${ruling.counts ? "counts" : "excused"}: ${ruling.reason}`);
    }
    for (const { id, outcome } of this.checks) lines.push(`${id}: ${outcome}`);
    return lines.map((line) => `${line}\n`).join("");
  }

  #last(index) {
    return this.rulings.findLast((ruling) => ruling.index === index);
  }
}

/**
 * The host's side of a call: delivers the tree, and receives rulings and checks. `refuse` ends the
 * call.
 */
export function host(tree, judged, error, refuse) {
  let given = 0;
  const source = {
    next(max) {
      const batch = tree.slice(given, given + max);
      given += batch.length;
      if (batch.length === 0 && error !== undefined) throw error;
      return batch;
    },
  };
  const sink = {
    rule(rulings) {
      for (const [index, ruling] of rulings) {
        if (index >= given) refuse(`item ${index} has a ruling, but only ${given} items were given`);
        if (!tree[index].leaf) refuse(`item ${index} (\`${tree[index].item.name}\`) has a ruling, but is not a leaf`);
        judged.rulings.push({ index, ...ruling });
      }
    },
    report(checks) {
      for (const check of checks) {
        if (judged.check(check.id)) refuse(`check \`${check.id}\` is reported twice`);
        if (judged.checks.length >= MAX_CHECKS) refuse(`there are more than ${MAX_CHECKS} checks`);
        judged.checks.push({ ...check });
      }
    },
  };
  return { source, sink };
}
