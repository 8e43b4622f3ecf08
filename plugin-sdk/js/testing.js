/**
 * Runs a module natively, in Node, against a host that is as strict as the real one: for tests of modules (`node --test`).
 * testing.d.ts describes what there is.
 */
import { sendTo as itemsTo } from "./lib/host/output-native.js";
import { sendTo as judgementTo } from "./lib/host/judgement-native.js";
import { sendTo as logTo } from "./lib/host/log-native.js";
import { fromWire, toWire } from "./lib/item.js";
import { host, Judged, wireTree } from "./lib/testing/judgement.js";
import { problem } from "./lib/testing/rules.js";
import { Run } from "./lib/testing/run.js";
import { file, results } from "./lib/testing/resources.js";

export { Judged, Run };

export class Case {
  #info = { name: "test", driver: "Job", format: "", expectedResults: 1 };
  #options = {};
  #files = [];
  #chunk = 1 << 20;
  #podSpec = null;
  #nodes = [];
  #entries = [];
  #resultsError;
  #ruled = [];

  /** What the module is told of the plugin: `name`, `driver`, `format`, `expectedResults`. */
  plugin(info) {
    Object.assign(this.#info, info);
    return this;
  }

  option(key, value) {
    this.#options[key] = value;
    return this;
  }

  file(path, content) {
    return this.#add({ path, pieces: [bytes(content)] });
  }

  /** A file that cannot be read any further after `content`. */
  brokenFile(path, content, error) {
    return this.#add({ path, pieces: [bytes(content)], error });
  }

  /** A file that is made while it is read: `pieces` gives an iterable of strings or bytes. */
  generatedFile(path, pieces) {
    return this.#add({ path, pieces });
  }

  /** How many bytes the host gives at a time. */
  chunk(size) {
    this.#chunk = size;
    return this;
  }

  podSpec(spec) {
    this.#podSpec = JSON.stringify(spec);
    return this;
  }

  node(name, { labels = {}, taints = [], ready = true, unschedulable = false, os = "linux", arch = "amd64" } = {}) {
    const whole = taints.map((taint) => ({ value: "", effect: "NoSchedule", ...taint }));
    this.#nodes.push({ name, labels: Object.entries(labels), taints: whole, ready, unschedulable, os, arch });
    return this;
  }

  /** Items of a result set, for a summarizer or a judge; of the empty name, what a summarizer added. */
  results(set, items) {
    for (const item of items) this.#entries.push({ set, item: toWire({ status: "unknown", ...item }, item.depth ?? 0) });
    return this;
  }

  /** The results cannot be read any further after those that were given. */
  brokenResults(error) {
    this.#resultsError = error;
    return this;
  }

  /** What the module's `postProcessor` makes of the files. */
  run(postProcessor) {
    const sorted = [...this.#files].sort((one, other) => (one.path < other.path ? -1 : 1));
    return this.#call(() => postProcessor.process(this.#wireInfo(), sorted.map((given) => file(given, this.#chunk))));
  }

  /** What the module's `summarizer` makes of the results. */
  summarize(summarizer) {
    return this.#call(() => summarizer.summarize(this.#wireInfo(), results(this.#entries, this.#resultsError)));
  }

  /** What an earlier judge of the chain said of the first leaf of that name. */
  ruled(name, ruling) {
    this.#ruled.push([name, ruling]);
    return this;
  }

  /** What the module's `judge` says of the results; the files are its evidence, in the order in which they were added. */
  judge(judge) {
    const tree = wireTree(this.#entries, this.#ruled);
    const judged = new Judged(tree);
    let refusal;
    const { source, sink } = host(tree, judged, this.#resultsError, (wrong) => {
      // The real host ends the call here, so a module cannot catch it.
      throw (refusal = new Error(`the host refuses this: ${wrong}`));
    });
    judgementTo(sink);
    try {
      const evidence = this.#files.map((given) => file(given, this.#chunk));
      const { error, log } = this.#call(() => judge.judge(this.#wireInfo(), source, evidence));
      Object.assign(judged, { error, log });
    } finally {
      judgementTo(undefined);
    }
    if (refusal) throw refusal;
    return judged;
  }

  /** The results that the module's `expectations` names: `"global"`, or `node/NAME`. Throws the module's sentence. */
  expected(expectations) {
    let named = [];
    const run = this.#call(() => {
      named = expectations.expectedResults(this.#wireInfo(), this.#podSpec, structuredClone(this.#nodes));
    });
    if (run.error !== undefined) throw new Error(run.error);
    const labels = named.map(({ tag, val }) => (tag === "global" ? "global" : `node/${val}`));
    const known = new Set(["global", ...this.#nodes.map(({ name }) => `node/${name}`)]);
    labels.forEach((label, at) => {
      if (!known.has(label)) throw new Error(`the host refuses this: there is no such node: ${label}`);
      if (labels.indexOf(label) !== at) throw new Error(`the host refuses this: named twice: ${label}`);
    });
    return labels;
  }

  #add(given) {
    if (this.#files.some(({ path }) => path === given.path)) throw new Error(`two files are called ${given.path}`);
    this.#files.push(given);
    return this;
  }

  #wireInfo() {
    return { ...this.#info, options: JSON.stringify(this.#options) };
  }

  #call(work) {
    const run = new Run();
    let refusal;
    itemsTo((items) => {
      for (const item of items) {
        const wrong = problem(item, run.items.at(-1)?.depth);
        // The real host ends the call here, so a module cannot catch it.
        if (wrong) throw (refusal = new Error(`the host refuses this: ${wrong}`));
        run.items.push(fromWire(item));
      }
    });
    logTo((level, message) => run.log.push([level, message]));
    try {
      work();
    } catch (thrown) {
      // A module's own failure comes as its sentence; an `Error` is a rule that was broken, or a defect of the SDK.
      if (typeof thrown !== "string") throw thrown;
      run.error = thrown;
    } finally {
      itemsTo(undefined);
      logTo(undefined);
    }
    if (refusal) throw refusal;
    return run;
  }
}

function bytes(content) {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}
