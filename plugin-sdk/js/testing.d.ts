/** Runs a module natively, in Node, against a host that is as strict as the real one: for tests of modules (`node --test`). */
import type { Check, Expectations, Item, Judge, JudgedItem, PostProcessor, Ruling, Status, Summarizer, Taint } from "./index.js";

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

/** What a judge said of a case. */
export class Judged {
  /** The tree that it was given. */
  tree: JudgedItem[];
  /** The rulings, in the order in which they came, with the numbers of their items. */
  rulings: ({ index: number } & Required<Ruling>)[];
  /** The checks, in order. */
  checks: Required<Check>[];
  /** The sentence with which the module ended, if it failed. */
  error: string | undefined;
  /** The log. */
  log: [level: "debug" | "info" | "warning" | "error", message: string][];
  /** What this judge said of the first leaf of that name: the last of its rulings. */
  ruling(name: string): Judged["rulings"][number] | undefined;
  /** The check of that id. */
  check(id: string): Required<Check> | undefined;
  /** A line `set/name: class, counts: reason` (or `excused`) for each item that was ruled on, then a line `id: outcome` for each check. */
  outline(): string;
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
  /** Items of a result set, for a summarizer or a judge; of the empty name, what a summarizer added. */
  results(set: string, items: Item[]): this;
  /** The results cannot be read any further after those that were given. */
  brokenResults(error: string): this;
  /** What an earlier judge of the chain said of the first leaf of that name. */
  ruled(name: string, ruling: Ruling): this;
  run(postProcessor: PostProcessor): Run;
  summarize(summarizer: Summarizer): Run;
  /** The files are its evidence, in the order in which they were added. */
  judge(judge: Judge): Judged;
  /** The results that were named, each `global` or `node/NAME`. Throws the module's sentence. */
  expected(expectations: Expectations): string[];
}
