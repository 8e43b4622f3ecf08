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
 * A file of the result set, or of the node. It can be read once, as a stream. Every method throws `ReadError` if
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
  /**
   * Closes a file of the node that was not read to its end. The host limits the number of open
   * files.
   */
  close(): void;
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

/** A file or directory of the node cannot be read. The message has the path and the cause. */
export class FileError extends ReadError {
  /** The path on the node. */
  readonly path: string;
  /**
   * `not-granted`: no granted directory contains the path, or the granted directory does not exist
   * on the node. `not-permitted`: a link out of the granted directory, a pipe, socket or device, or
   * a file that the user of the process may not read.
   */
  readonly code: "not-granted" | "not-found" | "not-permitted" | "too-large" | "other";
}

/** The type of a file. `other` is a pipe, socket or device, which a check cannot open. */
export type FileType = "file" | "directory" | "link" | "other";

/** Objects of the cluster to read. */
export interface ObjectQuery {
  /** The API group and version, such as `v1` or `apps/v1`. */
  readonly apiVersion: string;
  /** The plural name of the resource, such as `nodes`. */
  readonly resource: string;
  /** The namespace. Without it, all of them, and objects outside namespaces. */
  readonly namespace?: string;
  /** A label selector, such as `app=web`. */
  readonly labels?: string;
  /** A field selector, such as `spec.nodeName=node-1`. */
  readonly fields?: string;
}

/**
 * A request, a resolution or a connection attempt failed. The message is one sentence of the host.
 */
export class NetworkError extends Error {
  /** For tests. */
  constructor(kind: NetworkError["kind"], cause: string);
  /**
   * `denied`: the definition does not grant it, or an argument is invalid. `not-found`: the name
   * does not exist, or has no address. `refused`: the target refused or reset the connection.
   * `tls`: the certificate is invalid, or the server has no TLS at all.
   */
  readonly kind: "denied" | "not-found" | "refused" | "timeout" | "tls" | "other";
  /**
   * Whether the failure says something about the target. Otherwise, a check knows nothing about it,
   * so the status of its item is `unknown` and not `failed`.
   */
  readonly isOfTarget: boolean;
}

/** An HTTP request. */
export interface Request {
  /** The method. The default is `GET`. */
  readonly method?: string;
  /** The URL: `http` or `https`, without a user. */
  readonly url: string;
  /** The header fields. */
  readonly headers?: { [name: string]: string };
  /** The body: at most 1 MiB. */
  readonly body?: Uint8Array;
  /**
   * Which certificates of the server are accepted: those of the CAs of the system on which the
   * check runs (the default), those of these CAs in PEM form, or all. A request with `any` proves
   * nothing about the identity of the server.
   */
  readonly trust?: "system" | { readonly certificates: string } | "any";
  /** The time limit for everything, in milliseconds: at most 300,000. The default is 10,000. */
  readonly timeout?: number;
}

/** An HTTP response. */
export interface Response {
  /** The status code. The host does not follow redirects. */
  readonly status: number;
  /** The header fields, with names in lower case. */
  readonly headers: [name: string, value: string][];
  /** The body: at most 16 MiB. A longer one is an error. */
  readonly body: Uint8Array;
  /** The certificate of the server in DER form, if the URL is `https`. */
  readonly certificate: Uint8Array | undefined;
  /** The address and port of the server. */
  readonly address: string;
  /** Returns the first value of a header field, whose name is in lower case. */
  header(name: string): string | undefined;
  /** Returns the body as text. Invalid UTF-8 becomes U+FFFD. */
  text(): string;
}

/**
 * What a check may read and reach, and where it reports its progress. A path is that of the node, such as
 * `/etc/kubernetes/kubelet.conf`. It must be in a directory that the definition grants. Functions
 * that read files throw `FileError`.
 */
export interface Context {
  /** Opens a file, to read it as a stream. It is closed at its end, or with `close`. */
  open(path: string): InputFile;
  /** Reads a text file of at most `limit` bytes (default: 16 MiB). */
  readFile(path: string, options?: { limit?: number }): string;
  /** Reads the bytes of a file, under the same limit. */
  readBytes(path: string, options?: { limit?: number }): Uint8Array;
  /** Returns the entries of a directory, sorted by name. Types do not follow links. */
  readDirectory(path: string): { name: string; type: FileType }[];
  /** Returns the type and the size of a file or directory. It follows links. */
  stat(path: string): { type: FileType; size: number };
  /** Returns the owner and the mode of a file of any type, or of a directory. It follows links. */
  attributes(path: string): {
    /** The type and the permissions, such as `0o100600` (`st_mode` of POSIX). */
    mode: number;
    /** The user ID. */
    uid: number;
    /** The group ID. */
    gid: number;
    /** The permissions, such as `0o600`. */
    permissions: number;
  };
  /** Returns the value of an environment variable, or `undefined` if it is not set or granted. */
  env(name: string): string | undefined;
  /** Returns the time of the node. */
  now(): Date;
  /**
   * Waits for this number of milliseconds, which count toward the time limit of the check. Timers
   * such as `setTimeout` do not work. In a test, it returns at once, and the clock of the node
   * advances.
   */
  sleep(time: number): void;
  /**
   * Iterates over objects of the cluster. The host reads one page at a time. Throws `ReadError` if
   * the rest cannot be read, with the missing grant.
   */
  objects(query: ObjectQuery): Generator<any, void, void>;
  /** Returns an object, or `undefined` if it does not exist. The selectors are not used. */
  object(query: ObjectQuery, name: string): any;
  /**
   * Sends an HTTP request and returns the response, whatever its status is. Throws `NetworkError` if
   * the definition does not grant the web server, or if the response is incomplete.
   */
  send(request: Request): Response;
  /**
   * Returns the addresses of a name, by the resolver of the machine or pod. Throws `NetworkError` if
   * the definition does not grant the name, or if it has no address.
   */
  resolve(name: string): string[];
  /**
   * Tries to open a TCP connection to each target, many at the same time, and closes it. A host is a
   * name, or an address without brackets. Returns one result for each target, in the same order:
   * the address and port with the time until it was open in milliseconds, or the error.
   *
   * `timeout` is the time of one attempt in milliseconds: at most 60,000. The default is 5,000.
   * Failed attempts are repeated about once a second for `wait` milliseconds.
   */
  connect(
    targets: { host: string; port: number }[],
    times?: { timeout?: number; wait?: number },
  ): ({ address: string; took: number } | NetworkError)[];
  /**
   * Reports that `completed` of `total` parts are done, and what the check does now. `total` is 0 as
   * long as it is not known. The host skips reports that follow each other quickly.
   */
  progress(completed: number, total: number, message?: string): void;
}

/** The type of the export `check`. */
export interface Checker {
  run(info: unknown): void;
}
/**
 * Makes a check, which reads a node or a cluster itself. The host calls it once for each result of
 * the plugin. If a single file or object cannot be read, emit an `unknown` item with the cause under
 * the meta key `error`, and continue.
 */
export function check(run: (plugin: Plugin, context: Context, out: Output) => void): Checker;

/** Writes lines to the log of the run. Lines above its limit are dropped. */
export namespace log {
  function debug(message: string): void;
  function info(message: string): void;
  function warning(message: string): void;
  function error(message: string): void;
}
