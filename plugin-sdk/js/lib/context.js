/** What a check reads and reaches: files, variables, objects of the cluster, and hosts. */
import { FileError } from "./files.js";
import { InputFile, ReadError } from "./input.js";
import { isNestedTooDeeply, MAX_NESTING } from "./nesting.js";
import { MAX_TARGETS, milliseconds, wireRequest, wireTarget } from "./network.js";
import { text } from "./text.js";

/** Default limit in bytes of a file that is read as a whole. */
const FILE_LIMIT = 16 << 20;

export class Context {
  #host;

  /** `host` is that of the sandbox (`host/node.js`) or of a test (`testing/granted.js`). */
  constructor(host) {
    this.#host = host;
  }

  /** Opens a file, to read it as a stream. It is closed at its end, or with `close`. */
  open(path) {
    return new InputFile(this.#host.open(path));
  }

  /** Reads a text file. */
  readFile(path, { limit = FILE_LIMIT } = {}) {
    return this.#whole(path, limit, (file) => file.text({ limit }));
  }

  /** Reads the bytes of a file. */
  readBytes(path, { limit = FILE_LIMIT } = {}) {
    return this.#whole(path, limit, (file) => file.bytes({ limit }));
  }

  /** Returns the entries of a directory, sorted by name. */
  readDirectory(path) {
    return this.#host.readDirectory(path).sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Returns the type and the size of a file or directory. */
  stat(path) {
    return this.#host.stat(path);
  }

  /** Returns the owner and the mode of a file or directory. */
  attributes(path) {
    return this.#host.attributes(text(path));
  }

  /** Returns the value of an environment variable, or `undefined`. */
  env(name) {
    return this.#host.env(name);
  }

  /** Returns the time of the node. */
  now() {
    return this.#host.now();
  }

  /** Waits. */
  sleep(time) {
    this.#host.sleep(milliseconds(time));
  }

  /** Iterates over objects of the cluster. */
  *objects(query) {
    const list = reading(() => this.#host.list(wire(query)));
    for (;;) {
      const batch = reading(() => list.next());
      if (batch.length === 0) return;
      for (const document of batch) yield parse(document);
    }
  }

  /** Returns an object of the cluster, or `undefined` if it does not exist. */
  object(query, name) {
    const document = reading(() => this.#host.get(wire(query), text(name)));
    return document === undefined || document === null ? undefined : parse(document);
  }

  /** Sends an HTTP request and returns the response, whatever its status is. */
  send(request) {
    return this.#host.send(wireRequest(request));
  }

  /** Returns the addresses of a name. */
  resolve(name) {
    return this.#host.resolve(text(name));
  }

  /** Tries to open a TCP connection to each target. Returns one result for each, in order. */
  connect(targets, { timeout = 5000, wait = 0 } = {}) {
    const wired = targets.map(wireTarget);
    const results = [];
    for (let at = 0; at < wired.length; at += MAX_TARGETS) {
      const chunk = wired.slice(at, at + MAX_TARGETS);
      results.push(...this.#host.connect(chunk, Math.max(milliseconds(timeout), 1), milliseconds(wait)));
    }
    return results;
  }

  /** Reports that `completed` of `total` parts are done. */
  progress(completed, total, message = "") {
    this.#host.report(count(completed), count(total), text(message));
  }

  #whole(path, limit, read) {
    const file = this.open(path);
    try {
      return read(file);
    } catch (error) {
      if (error instanceof FileError) throw error;
      if (error instanceof ReadError && /has more than/.test(error.message)) throw new FileError(path, "too-large", `more than ${limit} bytes`);
      throw error;
    }
  }
}

/** Returns a number that the host accepts. */
function count(value) {
  return Math.min(Math.max(Math.trunc(value) || 0, 0), Number.MAX_SAFE_INTEGER);
}

function wire({ apiVersion, resource, namespace, labels = "", fields = "" }) {
  return {
    apiVersion: text(apiVersion),
    resource: text(resource),
    namespace: namespace === undefined || namespace === null ? undefined : text(namespace),
    labelSelector: text(labels),
    fieldSelector: text(fields),
  };
}

function reading(call) {
  try {
    return call();
  } catch (error) {
    throw new ReadError(text(error?.payload ?? error?.message ?? error));
  }
}

function parse(document) {
  if (isNestedTooDeeply(document)) throw new ReadError(`an object is nested more than ${MAX_NESTING} levels deep`);
  return JSON.parse(document);
}
