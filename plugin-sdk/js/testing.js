/**
 * Runs a module natively in Node (`node --test`), against a host that is as strict as the real one.
 * See testing.d.ts for the API.
 */
import { sendTo as itemsTo } from "./lib/host/output-native.js";
import { sendTo as judgementTo } from "./lib/host/judgement-native.js";
import { sendTo as logTo } from "./lib/host/log-native.js";
import { readFrom } from "./lib/host/node-native.js";
import { fromWire, toWire } from "./lib/item.js";
import { NetworkError, Response } from "./lib/network.js";
import { Granted } from "./lib/testing/granted.js";
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
  #granted = new Granted();

  /** Sets what the module sees of the plugin: `name`, `driver`, `format`, `expectedResults`. */
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

  /** Adds a file that fails after `content`. */
  brokenFile(path, content, error) {
    return this.#add({ path, pieces: [bytes(content)], error });
  }

  /**
   * Adds a file that is generated while it is read. `pieces` returns an iterable of strings or
   * bytes.
   */
  generatedFile(path, pieces) {
    return this.#add({ path, pieces });
  }

  /** Limits each read to so many bytes. */
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

  /**
   * Adds the items of a result set for a summarizer or a judge. Those with the empty name are from
   * a summarizer.
   */
  results(set, items) {
    for (const item of items) this.#entries.push({ set, item: toWire({ status: "unknown", ...item }, item.depth ?? 0) });
    return this;
  }

  /** Makes reading the results fail after the added ones. */
  brokenResults(error) {
    this.#resultsError = error;
    return this;
  }

  /** Grants a directory of the node to a check. Its files are those below `disk`. */
  nodeDirectory(path, disk) {
    this.#granted.directories.set(path, disk);
    return this;
  }

  /** Adds a file of the node for a check, without a directory. */
  nodeFile(path, content) {
    this.#granted.files.set(path, bytes(content));
    return this;
  }

  /** Sets an environment variable that a check sees. */
  env(name, value) {
    this.#granted.variables.set(name, value);
    return this;
  }

  /** Sets the clock of the node. */
  now(time) {
    this.#granted.time = time;
    return this;
  }

  /** Grants a resource of the cluster to a check, and adds objects to it. */
  objects(apiVersion, resource, objects) {
    this.#granted.list(apiVersion, resource).objects.push(...objects);
    return this;
  }

  /** Makes reading a resource fail after its objects. */
  brokenObjects(apiVersion, resource, error) {
    this.#granted.list(apiVersion, resource).error = error;
    return this;
  }

  /** Sets the owner and the permissions of a file or directory. */
  attributes(path, attributes) {
    this.#granted.owners.set(path, attributes);
    return this;
  }

  /** Grants a request to a check, and sets its result. */
  response(method, url, result) {
    const response = () => new Response({ ...result, body: bytes(result.body ?? "") });
    this.#granted.responses.set(`${method} ${url}`, result instanceof NetworkError ? result : response());
    return this;
  }

  /** Grants a name to a check, and sets its addresses. */
  name(name, result) {
    this.#granted.names.set(name, result);
    return this;
  }

  /** Grants a connection attempt to a check, and sets its result. */
  connection(host, port, result) {
    this.#granted.connections.set(`${host}:${port}`, result instanceof NetworkError ? result : { took: 0, ...result });
    return this;
  }

  /** Runs the module's `check` on the node and the cluster. */
  check(check) {
    const progress = [];
    readFrom(this.#granted.host(progress));
    try {
      return Object.assign(this.#call(() => check.run(this.#wireInfo())), { progress });
    } finally {
      readFrom(undefined);
    }
  }

  /** Runs the module's `postProcessor` on the files. */
  run(postProcessor) {
    const sorted = [...this.#files].sort((one, other) => (one.path < other.path ? -1 : 1));
    return this.#call(() => postProcessor.process(this.#wireInfo(), sorted.map((given) => file(given, this.#chunk))));
  }

  /** Runs the module's `summarizer` on the results. */
  summarize(summarizer) {
    return this.#call(() => summarizer.summarize(this.#wireInfo(), results(this.#entries, this.#resultsError)));
  }

  /** Sets the ruling of an earlier judge on the first leaf with that name. */
  ruled(name, ruling) {
    this.#ruled.push([name, ruling]);
    return this;
  }

  /**
   * Runs the module's `judge` on the results. The files are its evidence, in the order in which
   * they were added.
   */
  judge(judge) {
    const tree = wireTree(this.#entries, this.#ruled);
    const judged = new Judged(tree);
    let refusal;
    const { source, sink } = host(tree, judged, this.#resultsError, (wrong) => {
      // The real host ends the call here, so a module cannot catch this.
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

  /**
   * Returns the results that the module's `expectations` lists: `"global"`, or `node/NAME`. Throws
   * the module's message.
   */
  expected(expectations) {
    let named = [];
    const run = this.#call(() => {
      named = expectations.expectedResults(this.#wireInfo(), this.#podSpec, structuredClone(this.#nodes));
    });
    if (run.error !== undefined) throw new Error(run.error);
    const labels = named.map(({ tag, val }) => (tag === "global" ? "global" : `node/${val}`));
    const known = new Set(["global", ...this.#nodes.map(({ name }) => `node/${name}`)]);
    labels.forEach((label, at) => {
      if (!known.has(label)) throw new Error(`the host refuses this: unknown node: ${label}`);
      if (labels.indexOf(label) !== at) throw new Error(`the host refuses this: listed twice: ${label}`);
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
        // The real host ends the call here, so a module cannot catch this.
        if (wrong) throw (refusal = new Error(`the host refuses this: ${wrong}`));
        run.items.push(fromWire(item));
      }
    });
    logTo((level, message) => run.log.push([level, message]));
    try {
      work();
    } catch (thrown) {
      // A module's own failure is thrown as its message. An `Error` is a broken rule, or a bug in
      // the SDK.
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
