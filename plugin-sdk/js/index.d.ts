/** Write a module for Plumbline in JavaScript or TypeScript. README.md begins at the beginning. */

/** What a module may know of the plugin that it works for. */
export interface Plugin {
  /** A DNS-1123 subdomain. */
  readonly name: string;
  /** `Job`, `DaemonSet` or `Process`. More may come: treat an unknown driver like `Job`. */
  readonly driver: string;
  /** The `result-format` of the definition, as written; empty when it names none. */
  readonly format: string;
  /** How many results the run expects of this plugin. */
  readonly expectedResults: number;
  /** The free options that the definition gives its module; `{}` when it gives none. Anybody may have written them: check them. */
  readonly options: { readonly [key: string]: unknown };
}

/** A file of the result set. It is read as a stream, and once. Every way of reading throws `ReadError` when the file cannot be read. */
export interface InputFile {
  /** Where the file is, relative to the plugin's directory in the archive, such as `results/global/scan.sarif`. */
  readonly path: string;
  /** The last part of `path`. */
  readonly name: string;
  /** Bytes, when the call began. */
  readonly size: number;
  /** The bytes, in pieces of 1 MiB at most. */
  chunks(): Generator<Uint8Array, void, void>;
  /** The text, in pieces; what is not UTF-8 becomes U+FFFD, a byte order mark is left out. */
  texts(): Generator<string, void, void>;
  /** The lines, without their ends. A line of more than `limit` characters (1 Mi unless said otherwise) is a `ReadError`. */
  lines(options?: { limit?: number }): Generator<string, void, void>;
  /** The whole text. More than `limit` bytes (32 MiB unless said otherwise) are a `ReadError`. */
  text(options?: { limit?: number }): string;
  /** The file as a JSON document, under the same limit, of at most 512 levels. One that is none is a `ReadError` that says where. */
  json(options?: { limit?: number }): unknown;
  /** All bytes, under the same limit. */
  bytes(options?: { limit?: number }): Uint8Array;
}

/** How an item ended; any other word of at most 256 bytes is a status of the format's own, such as `warning`. */
export type Status = "passed" | "failed" | "skipped" | "timeout" | "unknown" | (string & {});

/** Text, shown as it is, or a structure. */
export type Detail = string | number | boolean | { json: unknown };

/** One entry of the result tree. */
export interface Item {
  /** 0 (a root of the result set) unless said otherwise; at most one more than the depth of the item before. */
  depth?: number;
  /** What a person sees; not empty, at most 64 KiB. */
  name: string;
  /** Left out, the host works it out from the items below, or takes `unknown` where there are none. */
  status?: Status | null;
  /** Short facts: `file`, `type`, `error`, or keys of the format's own. What is `undefined` or `null` is left out. */
  meta?: { [key: string]: string | number | boolean | null | undefined } | Map<string, string | number | boolean>;
  /** What a person reads when something went wrong: `failure`, `error`, `system-out`, or keys of the format's own. */
  details?: { [key: string]: Detail | null | undefined } | Map<string, Detail>;
  /** Items that stand in this one, one level deeper. For many, emit them one by one with `depth`. */
  items?: Iterable<Item>;
}

/** Takes items in pre-order and hands them to the host in batches. */
export interface Output {
  /** Appends an item and its `items`. A `TypeError` says what is wrong with it. */
  emit(item: Item): void;
  /** Hands over what has gathered. Happens by itself when a batch is full and at the end of the call. */
  flush(): void;
}

/** A file that cannot be read, or is larger than what was asked for. The message is a sentence for a person. */
export class ReadError extends Error {}

/** What a module exports under the name `postProcessor`. */
export interface PostProcessor {
  process(info: unknown, files: unknown[]): void;
}
/**
 * The role of a post-processor: the files of one result set become items. What `process` throws is an item `unknown` at the end: of a
 * string or an `Error` the message, of anything else (a mistake in the module) the type too. What was emitted before stays.
 */
export function postProcessor(process: (plugin: Plugin, files: InputFile[], out: Output) => void): PostProcessor;

/** A taint of a node. */
export interface Taint {
  readonly key: string;
  readonly value: string;
  /** `NoSchedule`, `PreferNoSchedule` or `NoExecute`. */
  readonly effect: string;
}

/** A node of the cluster, or this machine in a local run. */
export interface Node {
  readonly name: string;
  /** Without a prototype, so a label may have any name. */
  readonly labels: { readonly [key: string]: string };
  readonly taints: readonly Taint[];
  readonly ready: boolean;
  /** The node is cordoned. */
  readonly unschedulable: boolean;
  /** `linux`, `windows`, …; empty when the cluster does not say. */
  readonly os: string;
  /** `amd64`, `arm64`, …; empty when the cluster does not say. */
  readonly arch: string;
}

/** One result for the whole cluster. */
export const GLOBAL: { readonly global: true };

/** What a module exports under the name `expectations`. */
export interface Expectations {
  expectedResults(info: unknown, podSpec: string | null | undefined, nodes: unknown[]): unknown[];
}
/**
 * The role of an expectation: the nodes become the results that must arrive, each `GLOBAL`, a node, or a node's name. `podSpec` is the
 * definition's, parsed; `undefined` when it has none. What `expect` throws keeps the run from starting.
 */
export function expectations(
  expect: (plugin: Plugin, podSpec: Record<string, unknown> | undefined, nodes: Node[]) => Iterable<Node | string | typeof GLOBAL>,
): Expectations;

/** An item of a result set, and whose it is. */
export interface Entry {
  /** The node's name, or `global`. */
  readonly set: string;
  /** `status` is always there. A detail is text or `{ json }`. */
  readonly item: {
    readonly depth: number;
    readonly name: string;
    readonly status?: Status;
    readonly meta: { readonly [key: string]: string };
    readonly details: { readonly [key: string]: string | { readonly json: unknown } };
  };
}

/** What a module exports under the name `summarizer`. */
export interface Summarizer {
  summarize(info: unknown, items: unknown): void;
}
/** The role of a summarizer: the items of all result sets, as a stream, become further items at the plugin's root. */
export function summarizer(summarize: (plugin: Plugin, entries: Iterable<Entry>, out: Output) => void): Summarizer;

/** What is said of one item. */
export interface Ruling {
  /** One word, or a few with `-` between them, such as `known-failure`, `flaky`: 1 to 64 of the characters a-z, 0-9 and `-`. */
  readonly class: string;
  /** Whether the item counts as a failure. Without a ruling, items that failed or timed out do, and no others. */
  readonly counts: boolean;
  /** Why, as a sentence for a person. */
  readonly reason?: string;
  /** Where the judge has it from: the entry of a list, an archive, the address of an issue. */
  readonly source?: string;
}

/** An item of the finished tree, and what was said of it so far. */
export interface JudgedItem extends Entry {
  /** Its number in the tree. `set` is empty for what a summarizer added. */
  readonly index: number;
  /** Whether it has no children: only then it can be ruled on. */
  readonly leaf: boolean;
  /** Whether it is a leaf that failed or timed out: what counts as a failure while nobody says otherwise. */
  readonly isFailure: boolean;
  /** What an earlier judge of the chain said. */
  readonly ruling: Required<Ruling> | undefined;
}

/** One numbered requirement on the results as a whole. */
export interface Check {
  /** What it is referred to by, such as `PODS-001`: 1 to 64 characters, unique within one call. */
  readonly id: string;
  /** What is required, in a few words. */
  readonly name?: string;
  /** `unknown`: it could not be evaluated, and the reason says why. A plugin with such a check does not pass. */
  readonly outcome: "passed" | "failed" | "unknown";
  /** What was wanted, such as `>= 98 %`. */
  readonly want?: string;
  /** What was found, such as `96.4 % (27 of 28)`. */
  readonly got?: string;
  /** What else a person must know. */
  readonly reason?: string;
}

/** Takes rulings and checks, and hands them to the host in batches. Texts of more than 4 KiB are cut; a `TypeError` says what else is wrong. */
export interface Rulings {
  /**
   * Says something of an item, or of the one of that number, also when the tree has been read to its end. A later ruling takes the place of
   * an earlier one, also of one of an earlier judge. Only leaves that were read can be ruled on: anything else ends the call.
   */
  rule(item: JudgedItem | number, ruling: Ruling): void;
  /** Reports a check, in the order in which a person is to see them. */
  report(check: Check): void;
  /** Hands over what has gathered. Happens by itself when a batch is full and at the end of the call. */
  flush(): void;
}

/** What a module exports under the name `judge`. */
export interface Judge {
  judge(info: unknown, tree: unknown, evidence: unknown[]): void;
}
/**
 * The role of a judge: it says what of the finished tree counts. `evidence` are the files that the definition names for it: those of its
 * `data` as `data/NAME`, then those of the archive.
 */
export function judge(
  judgement: (plugin: Plugin, tree: Iterable<JudgedItem>, evidence: InputFile[], out: Rulings) => void,
): Judge;

/** Lines for the log of the run. Bounded: what is over the limit is dropped. */
export namespace log {
  function debug(message: string): void;
  function info(message: string): void;
  function warning(message: string): void;
  function error(message: string): void;
}
