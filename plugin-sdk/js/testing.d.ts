/**
 * Runs a module natively in Node (`node --test`), against a host that is as strict as the real one.
 */
import type { Check, Checker, Expectations, Item, Judge, JudgedItem, NetworkError, PostProcessor, Ruling, Status, Summarizer, Taint } from "./index.js";

/** The outcome of a native run. */
export class Run {
  /** The emitted items, in order. */
  items: {
    depth: number;
    name: string;
    status?: Status;
    meta: { [key: string]: string };
    details: { [key: string]: string | { json: unknown } };
  }[];
  /** The error message of the module, if it failed. */
  error: string | undefined;
  /** The lines of the log. */
  log: [level: "debug" | "info" | "warning" | "error", message: string][];
  /** The reports of a check, in order. */
  progress: { completed: number; total: number; message: string }[];
  /**
   * Returns a line `name: status` per item, indented by two spaces per level, with `-` if the host
   * rolls the status up.
   */
  outline(): string;
  /** Returns the first item with that name. */
  item(name: string): Run["items"][number] | undefined;
}

/** The outcome of a judge for a case. */
export class Judged {
  /** The tree that it read. */
  tree: JudgedItem[];
  /** The rulings in order, with the numbers of their items. */
  rulings: ({ index: number } & Required<Ruling>)[];
  /** The checks in order. */
  checks: Required<Check>[];
  /** The error message of the module, if it failed. */
  error: string | undefined;
  /** The lines of the log. */
  log: [level: "debug" | "info" | "warning" | "error", message: string][];
  /** Returns this judge's last ruling on the first leaf with that name. */
  ruling(name: string): Judged["rulings"][number] | undefined;
  /** Returns the check with that ID. */
  check(id: string): Required<Check> | undefined;
  /**
   * Returns a line `set/name: class, counts: reason` (or `excused`) for each item with a ruling,
   * then a line `id: outcome` for each check.
   */
  outline(): string;
}

/**
 * The input of a module. A broken rule of the host is thrown. An error of the module itself is in
 * `Run.error`.
 */
export class Case {
  plugin(info: { name?: string; driver?: string; format?: string; expectedResults?: number }): this;
  option(key: string, value: unknown): this;
  file(path: string, content: string | Uint8Array): this;
  /** Adds a file that fails after `content`. */
  brokenFile(path: string, content: string | Uint8Array, error: string): this;
  /** Adds a file that is generated while it is read. */
  generatedFile(path: string, pieces: () => Iterable<string | Uint8Array>): this;
  /** Limits each read to so many bytes. With 1, the file is split at every byte. */
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
  /**
   * Adds the items of a result set for a summarizer or a judge. Those with the empty name are from
   * a summarizer.
   */
  results(set: string, items: Item[]): this;
  /** Makes reading the results fail after the added ones. */
  brokenResults(error: string): this;
  /** Sets the ruling of an earlier judge on the first leaf with that name. */
  ruled(name: string, ruling: Ruling): this;
  /**
   * Grants a directory of the node to a check. Its files are those below `disk`, such as
   * `test/files/etc/kubernetes`.
   */
  nodeDirectory(path: string, disk: string): this;
  /** Adds a file of the node for a check, without a directory. */
  nodeFile(path: string, content: string | Uint8Array): this;
  /** Sets an environment variable that a check sees. */
  env(name: string, value: string): this;
  /** Sets the clock of the node. */
  now(time: Date): this;
  /**
   * Grants a resource of the cluster to a check, and adds objects to it. The check gets those whose
   * `metadata.namespace` is the namespace of its query. Selectors select everything: add only the
   * objects that they would select.
   */
  objects(apiVersion: string, resource: string, objects: object[]): this;
  /** Makes reading a resource fail after its objects. */
  brokenObjects(apiVersion: string, resource: string, error: string): this;
  /**
   * Sets the owner and the permissions of a file or directory. Those of all others belong to root,
   * with the permissions `0o644` or `0o755`.
   */
  attributes(path: string, attributes: { permissions?: number; uid?: number; gid?: number }): this;
  /** Grants a request to a check, and sets its result. Every other request is denied. */
  response(
    method: string,
    url: string,
    result:
      | {
          status: number;
          headers?: [name: string, value: string][];
          body?: string | Uint8Array;
          certificate?: Uint8Array;
          address?: string;
        }
      | NetworkError,
  ): this;
  /** Grants a name to a check, and sets its addresses. Every other name is denied. */
  name(name: string, result: string[] | NetworkError): this;
  /** Grants a connection attempt to a check, and sets its result. Every other one is denied. */
  connection(host: string, port: number, result: { address: string; took?: number } | NetworkError): this;
  /** Runs a check on the node and the cluster. */
  check(check: Checker): Run;
  run(postProcessor: PostProcessor): Run;
  summarize(summarizer: Summarizer): Run;
  /** Runs a judge. The files are its evidence, in the order in which they were added. */
  judge(judge: Judge): Judged;
  /** Returns the expected results, each `global` or `node/NAME`. Throws the module's message. */
  expected(expectations: Expectations): string[];
}
