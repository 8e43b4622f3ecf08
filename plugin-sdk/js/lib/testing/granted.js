/** The host of a check in a test: directories and recorded objects. */
import fs from "node:fs";
import { join } from "node:path";

import { FileError, locate } from "../files.js";
import { NetworkError } from "../network.js";

export class Granted {
  /** Directories of the node, and where they are on disk. */
  directories = new Map();
  /** Files of the node: bytes by path. */
  files = new Map();
  variables = new Map();
  /** `undefined` for the time of this machine. */
  time;
  /** Objects by API version and resource, with the error after them. */
  lists = new Map();

  /** Owners and modes by path. */
  owners = new Map();
  /** Results of requests by method and URL, of names, and of connection attempts by host and port. */
  responses = new Map();
  names = new Map();
  connections = new Map();

  /** Returns the host. It adds reports to `progress`. */
  host(progress) {
    let slept = 0;
    return {
      open: (path) => this.#open(path),
      readDirectory: (path) => this.#readDirectory(path),
      stat: (path) => this.#stat(path),
      attributes: (path) => this.#attributes(path),
      env: (name) => this.variables.get(name),
      now: () => new Date(Number(this.time ?? Date.now()) + slept),
      sleep: (time) => void (slept += time),
      list: (query) => recorded(this.#found(query)),
      get: (query, name) => this.#get(query, name),
      send: ({ method, url }) => thrown(this.responses.get(`${method} ${url}`) ?? denied(`${method} ${url}`, "response")),
      resolve: (name) => thrown(this.names.get(name) ?? denied(name, "name")),
      connect: (targets) => targets.map(({ host, port }) => this.connections.get(`${host}:${port}`) ?? denied(`${host}:${port}`, "connection")),
      report: (completed, total, message) => progress.push({ completed, total, message }),
    };
  }

  /** Returns the list of a resource, to add to it. */
  list(apiVersion, resource) {
    const key = `${apiVersion} ${resource}`;
    if (!this.lists.has(key)) this.lists.set(key, { objects: [], error: undefined });
    return this.lists.get(key);
  }

  #open(path) {
    const bytes = this.files.get(path) ?? this.#bytes(path);
    let at = 0;
    return {
      path: () => path,
      size: () => bytes.length,
      read: (max) => bytes.subarray(at, (at = Math.min(at + max, bytes.length))),
      close() {},
    };
  }

  #bytes(path) {
    const disk = this.#locate(path);
    const type = typeOf(disk);
    if (type === "directory") throw new FileError(path, "other", "is a directory");
    if (type !== "file") throw new FileError(path, "not-permitted");
    try {
      return new Uint8Array(fs.readFileSync(disk));
    } catch (error) {
      throw failed(path, error);
    }
  }

  #readDirectory(path) {
    const disk = this.#locate(path);
    try {
      return fs.readdirSync(disk).map((name) => ({ name, type: typeOf(join(disk, name)) }));
    } catch (error) {
      throw failed(path, error);
    }
  }

  #stat(path) {
    if (this.files.has(path)) return { type: "file", size: this.files.get(path).length };
    const disk = this.#locate(path);
    return { type: typeOf(disk), size: fs.statSync(disk).size };
  }

  #attributes(path) {
    const [type, rest] = this.#stat(path).type === "directory" ? [0o040000, 0o755] : [0o100000, 0o644];
    const { permissions = rest, uid = 0, gid = 0 } = this.owners.get(path) ?? {};
    return { mode: type | permissions, uid, gid, permissions };
  }

  /** Returns where `path` is on disk. As in the sandbox, it leads nowhere outside the directory. */
  #locate(path) {
    const { value, rest } = locate(path, this.directories);
    try {
      const [root, target] = [fs.realpathSync(value), fs.realpathSync(join(value, rest))];
      if (target === root || target.startsWith(`${root}/`)) return target;
    } catch (error) {
      throw failed(path, error);
    }
    throw new FileError(path, "not-permitted");
  }

  #found({ apiVersion, resource, namespace }) {
    const list = this.lists.get(`${apiVersion} ${resource}`);
    if (!list) throw `the case grants no \`${resource}\` of \`${apiVersion}\`: add them with \`Case.objects\``;
    const objects = list.objects.filter(({ metadata }) => namespace === undefined || metadata?.namespace === namespace);
    return { objects, error: list.error };
  }

  #get(query, name) {
    const { objects, error } = this.#found(query);
    const found = objects.find(({ metadata }) => metadata?.name === name);
    if (!found && error !== undefined) throw error;
    return found && JSON.stringify(found);
  }
}

/** Recorded objects, a few at a time, so that a check sees more than one batch. */
function recorded({ objects, error }) {
  let at = 0;
  return {
    next() {
      const batch = objects.slice(at, (at += 3)).map((object) => JSON.stringify(object));
      if (batch.length === 0 && error !== undefined) throw error;
      return batch;
    },
  };
}

function denied(what, method) {
  return new NetworkError("denied", `the case does not grant \`${what}\`: add it with \`Case.${method}\``);
}

function thrown(result) {
  if (result instanceof NetworkError) throw result;
  return result;
}

function failed(path, error) {
  if (error.code === "ENOENT") return new FileError(path, "not-found");
  if (error.code === "EACCES" || error.code === "EPERM") return new FileError(path, "not-permitted");
  return new FileError(path, "other", error.message);
}

function typeOf(disk) {
  const found = fs.lstatSync(disk);
  if (found.isSymbolicLink()) return "link";
  if (found.isDirectory()) return "directory";
  return found.isFile() ? "file" : "other";
}
