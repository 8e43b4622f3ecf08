/** Runs a module natively, in Node, against a host that is as strict as the real one: for tests of modules (`node --test`). */
import type { Expectations, Item, PostProcessor, Status, Summarizer, Taint } from "./index.js";

/** What a native run gives back. */
export class Run {
  /** What was emitted, in order. */
  items: {
    depth: number;
    name: string;
    status?: Status;
    meta: { [key: string]: string };
    details: { [key: string]: string | { json: unknown } };
  }[];
  /** The sentence with which the module ended, if it failed. */
  error: string | undefined;
  /** The log. */
  log: [level: "debug" | "info" | "warning" | "error", message: string][];
  /** One line `name: status` per item, two spaces per level; `-` where the host is to work the status out. */
  outline(): string;
  /** The first item of that name. */
  item(name: string): Run["items"][number] | undefined;
}

/** A case: what a module is given. What breaks a rule of the host is thrown; what the module itself throws is `Run.error`. */
export class Case {
  plugin(info: { name?: string; driver?: string; format?: string; expectedResults?: number }): this;
  option(key: string, value: unknown): this;
  file(path: string, content: string | Uint8Array): this;
  /** A file that cannot be read any further after `content`. */
  brokenFile(path: string, content: string | Uint8Array, error: string): this;
  /** A file that is made while it is read. */
  generatedFile(path: string, pieces: () => Iterable<string | Uint8Array>): this;
  /** How many bytes the host gives at a time: with 1, every border is met. */
  chunk(size: number): this;
  podSpec(spec: object): this;
  node(
    name: string,
    node?: {
      labels?: { [key: string]: string };
      taints?: (Partial<Taint> & { key: string })[];
      ready?: boolean;
      unschedulable?: boolean;
      os?: string;
      arch?: string;
    },
  ): this;
  /** Items of a result set, for a summarizer. */
  results(set: string, items: Item[]): this;
  /** The results cannot be read any further after those that were given. */
  brokenResults(error: string): this;
  run(postProcessor: PostProcessor): Run;
  summarize(summarizer: Summarizer): Run;
  /** The results that were named, each `global` or `node/NAME`. Throws the module's sentence. */
  expected(expectations: Expectations): string[];
}
