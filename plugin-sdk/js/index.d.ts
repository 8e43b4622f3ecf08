/**
 * The SDK for Plumbline modules in JavaScript and TypeScript. See README.md for an introduction.
 */

/** The plugin that the module works for. */
export interface Plugin {
  /** A DNS-1123 subdomain. */
  readonly name: string;
  /**
   * `Job`, `DaemonSet` or `Process`. More can be added later: treat an unknown driver like `Job`.
   */
  readonly driver: string;
  /** The `result-format` of the definition, as written. Empty if there is none. */
  readonly format: string;
  /** How many results the run expects of this plugin. */
  readonly expectedResults: number;
  /**
   * The options of the definition for its module, or `{}`. Check them, because they are not
   * trusted.
   */
  readonly options: { readonly [key: string]: unknown };
}

/**
 * A file of the result set. It can be read once, as a stream. Every method throws `ReadError` if
 * the file cannot be read.
 */
export interface InputFile {
  /**
   * The path relative to the plugin's directory in the archive, such as
   * `results/global/scan.sarif`.
   */
  readonly path: string;
  /** The last part of `path`. */
  readonly name: string;
  /** The size in bytes when the call started. */
  readonly size: number;
  /** Iterates over the bytes in pieces of at most 1 MiB. */
  chunks(): Generator<Uint8Array, void, void>;
  /**
   * Iterates over the text in pieces. Invalid UTF-8 becomes U+FFFD, and a byte order mark is
   * dropped.
   */
  texts(): Generator<string, void, void>;
  /**
   * Iterates over the lines without their ends. Throws `ReadError` at a line of more than `limit`
   * characters (default: 1 Mi).
   */
  lines(options?: { limit?: number }): Generator<string, void, void>;
  /**
   * Returns the whole text. Throws `ReadError` if it has more than `limit` bytes (default: 32 MiB).
   */
  text(options?: { limit?: number }): string;
  /**
   * Parses the file as JSON with at most 512 levels, under the same limit. Throws `ReadError` with
   * the position if it is invalid.
   */
  json(options?: { limit?: number }): unknown;
  /** Returns all bytes, under the same limit. */
  bytes(options?: { limit?: number }): Uint8Array;
}

/**
 * The outcome of an item. Any other word of at most 256 bytes is a status of the format's own, such
 * as `warning`.
 */
export type Status = "passed" | "failed" | "skipped" | "timeout" | "unknown" | (string & {});

/** Text, shown unchanged, or a structure. */
export type Detail = string | number | boolean | { json: unknown };

/** One entry of the result tree. */
export interface Item {
  /** Default: 0, a root of the result set. At most one more than the depth of the item before. */
  depth?: number;
  /** The name that people see: not empty, at most 64 KiB. */
  name: string;
  /** Without it, the host rolls it up from the children, or sets `unknown` if there are none. */
  status?: Status | null;
  /**
   * Short facts: `file`, `type`, `error`, or keys of the format's own. `undefined` and `null` are
   * left out.
   */
  meta?: { [key: string]: string | number | boolean | null | undefined } | Map<string, string | number | boolean>;
  /**
   * What a person reads when something went wrong: `failure`, `error`, `system-out`, or keys of the
   * format's own.
   */
  details?: { [key: string]: Detail | null | undefined } | Map<string, Detail>;
  /** The children, one level deeper. If there are many, emit them one by one with `depth`. */
  items?: Iterable<Item>;
}

/** Receives items in pre-order and sends them to the host in batches. */
export interface Output {
  /** Appends an item and its `items`. Throws `TypeError` with the reason if it is invalid. */
  emit(item: Item): void;
  /** Sends what is pending. The SDK does this when a batch is full and at the end of the call. */
  flush(): void;
}

/** A file cannot be read, or exceeds the limit. The message is for people. */
export class ReadError extends Error {}

/** The type of the export `postProcessor`. */
export interface PostProcessor {
  process(info: unknown, files: unknown[]): void;
}
/**
 * Makes a post-processor, which turns the files of a result set into items. An exception of
 * `process` becomes an `unknown` item at the end, with the message of a string or an `Error`. For
 * anything else (a bug in the module), it also has the type. Items emitted before stay.
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
  /** Has no prototype, so a label can have any name. */
  readonly labels: { readonly [key: string]: string };
  readonly taints: readonly Taint[];
  readonly ready: boolean;
  /** Whether the node is cordoned. */
  readonly unschedulable: boolean;
  /** `linux`, `windows`, …; empty if unknown. */
  readonly os: string;
  /** `amd64`, `arm64`, …; empty if unknown. */
  readonly arch: string;
}

/** The one result of the whole cluster. */
export const GLOBAL: { readonly global: true };

/** The type of the export `expectations`. */
export interface Expectations {
  expectedResults(info: unknown, podSpec: string | null | undefined, nodes: unknown[]): unknown[];
}
/**
 * Makes expectations. `expect` returns the results that must arrive, each `GLOBAL`, a node, or the
 * name of a node. `podSpec` is that of the definition, parsed, or `undefined`. If `expect` throws,
 * the run does not start.
 */
export function expectations(
  expect: (plugin: Plugin, podSpec: Record<string, unknown> | undefined, nodes: Node[]) => Iterable<Node | string | typeof GLOBAL>,
): Expectations;

/** An item with its result set. */
export interface Entry {
  /** The name of the node, or `global`. */
  readonly set: string;
  /** Always has a `status`. A detail is text or `{ json }`. */
  readonly item: {
    readonly depth: number;
    readonly name: string;
    readonly status?: Status;
    readonly meta: { readonly [key: string]: string };
    readonly details: { readonly [key: string]: string | { readonly json: unknown } };
  };
}

/** The type of the export `summarizer`. */
export interface Summarizer {
  summarize(info: unknown, items: unknown): void;
}
/**
 * Makes a summarizer, which reads the items of all result sets as a stream and adds items at the
 * plugin's root.
 */
export function summarizer(summarize: (plugin: Plugin, entries: Iterable<Entry>, out: Output) => void): Summarizer;

/** What a judge decides about one leaf. */
export interface Ruling {
  /** A word such as `known-failure` or `flaky`: 1 to 64 of the characters a-z, 0-9 and `-`. */
  readonly class: string;
  /**
   * Whether the leaf counts as a failure. Without a ruling, leaves that failed or timed out count,
   * and no others.
   */
  readonly counts: boolean;
  /** The reason, as a sentence for people. */
  readonly reason?: string;
  /** The source of the ruling: the entry of a list, an archive, the URL of an issue. */
  readonly source?: string;
}

/** An item of the finished tree, with the ruling of an earlier judge. */
export interface JudgedItem extends Entry {
  /** Its number in the tree. `set` is empty if a summarizer added the item. */
  readonly index: number;
  /** Whether it has no children. A ruling needs a leaf. */
  readonly leaf: boolean;
  /**
   * Whether it is a leaf that failed or timed out. Such leaves count unless a ruling excuses them.
   */
  readonly isFailure: boolean;
  /** The ruling of an earlier judge in the chain. */
  readonly ruling: Required<Ruling> | undefined;
}

/** A requirement on the results as a whole. */
export interface Check {
  /** Identifies it, such as `PODS-001`: 1 to 64 characters, unique within one call. */
  readonly id: string;
  /** What is required, in a few words. */
  readonly name?: string;
  /**
   * `unknown` means that it could not be evaluated for the given reason. A plugin with such a check
   * does not pass.
   */
  readonly outcome: "passed" | "failed" | "unknown";
  /** What was wanted, such as `>= 98 %`. */
  readonly want?: string;
  /** What was found, such as `96.4 % (27 of 28)`. */
  readonly got?: string;
  /** An explanation for people. */
  readonly reason?: string;
}

/**
 * Receives rulings and checks, and sends them to the host in batches. Texts are cut at 4 KiB. Other
 * invalid values throw `TypeError`.
 */
export interface Rulings {
  /**
   * Rules on an item, or on the one with that number, also after the end of the tree. It replaces
   * an earlier ruling, also one of an earlier judge. The item must be a leaf that was read. Any
   * other ruling ends the call.
   */
  rule(item: JudgedItem | number, ruling: Ruling): void;
  /** Reports a check. Checks are shown in this order. */
  report(check: Check): void;
  /** Sends what is pending. The SDK does this when a batch is full and at the end of the call. */
  flush(): void;
}

/** The type of the export `judge`. */
export interface Judge {
  judge(info: unknown, tree: unknown, evidence: unknown[]): void;
}
/**
 * Makes a judge, which decides what counts in the finished tree. `evidence` is the files that the
 * definition lists: those of its `data` as `data/NAME`, then those of the archive.
 */
export function judge(
  judgement: (plugin: Plugin, tree: Iterable<JudgedItem>, evidence: InputFile[], out: Rulings) => void,
): Judge;

/** Writes lines to the log of the run. Lines above its limit are dropped. */
export namespace log {
  function debug(message: string): void;
  function info(message: string): void;
  function warning(message: string): void;
  function error(message: string): void;
}
