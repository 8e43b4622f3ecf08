// For components: files and variables through WASI, the rest through the contract. The bundler uses this file for `#node` under the condition `plumbline`.
import { get, list } from "plumbline:plugin/cluster@0.1.0";
import { connect, resolve, send } from "plumbline:plugin/network@0.1.0";
import { read } from "plumbline:plugin/ownership@0.1.0";
import { report } from "plumbline:plugin/progress@0.1.0";
import { getEnvironment } from "wasi:cli/environment@0.2.0";
import { subscribeDuration } from "wasi:clocks/monotonic-clock@0.2.0";
import { getDirectories } from "wasi:filesystem/preopens@0.2.0";
import { FileError, locate } from "../files.js";
import { NetworkError, Response } from "../network.js";

const TYPES = { "regular-file": "file", directory: "directory", "symbolic-link": "link" };
const FOLLOW = { symlinkFollow: true };

// A check is one synchronous call, so the callback of a timer would never run.
for (const name of ["setTimeout", "setInterval", "setImmediate"]) {
  globalThis[name] = () => {
    throw new Error(`\`${name}\` does not work in a check: wait with \`context.sleep(milliseconds)\``);
  };
}

/** Returns the host of a check. In this engine, 64-bit numbers of the host are plain numbers. */
export function node() {
  const directories = getDirectories().map(([descriptor, path]) => [path, descriptor]);
  const openAt = (path, flags) => {
    const { value, rest } = locate(path, directories);
    return calling(path, () => value.openAt(FOLLOW, rest, flags, { read: true }));
  };
  return {
    open(path) {
      const descriptor = openAt(path, {});
      const { type, size } = calling(path, () => descriptor.stat());
      if (type === "directory") {
        release(descriptor);
        throw new FileError(path, "other", "is a directory");
      }
      return file(path, size, descriptor);
    },
    readDirectory(path) {
      const descriptor = openAt(path, { directory: true });
      const entries = [];
      const stream = calling(path, () => descriptor.readDirectory());
      for (let entry; (entry = calling(path, () => stream.readDirectoryEntry())); ) {
        entries.push({ name: entry.name, type: TYPES[entry.type] ?? "other" });
      }
      release(stream);
      release(descriptor);
      return entries;
    },
    stat(path) {
      const { value, rest } = locate(path, directories);
      const { type, size } = calling(path, () => value.statAt(FOLLOW, rest));
      return { type: TYPES[type] ?? "other", size: Number(size) };
    },
    attributes(path) {
      locate(path, directories);
      const found = reading(path, () => read(path));
      if (!found) throw new FileError(path, "not-found");
      return { mode: found.mode, uid: found.uid, gid: found.gid, permissions: found.mode & 0o7777 };
    },
    env: (name) => getEnvironment().find(([known]) => known === name)?.[1],
    now: () => new Date(),
    sleep(time) {
      const timer = subscribeDuration(time * 1e6);
      timer.block();
      release(timer);
    },
    list,
    get: ({ apiVersion, resource, namespace }, name) => get(apiVersion, resource, namespace, name),
    send(request) {
      const { status, headers, body, certificate, address } = reaching(() => send(request));
      return new Response({ status, headers, body: octets(body), certificate: certificate ? octets(certificate) : undefined, address });
    },
    resolve: (name) => reaching(() => resolve(name)),
    connect: (targets, attempt, wait) => connect(targets, attempt, wait).map(connection),
    report,
  };
}

function connection({ tag, val }) {
  return tag === "ok" ? { address: val.address, took: Number(val.microseconds) / 1000 } : failure(val);
}

function failure({ tag, val }) {
  return new NetworkError(tag, val);
}

function reaching(call) {
  try {
    return call();
  } catch (error) {
    throw failure(error?.payload ?? error);
  }
}

function reading(path, call) {
  try {
    return call();
  } catch (error) {
    throw new FileError(path, "other", String(error?.payload ?? error?.message ?? error));
  }
}

function octets(list) {
  return list instanceof Uint8Array ? list : Uint8Array.from(list);
}

function file(path, size, descriptor) {
  let offset = 0;
  let open = true;
  return {
    path: () => path,
    size: () => size,
    read(max) {
      const [bytes] = calling(path, () => descriptor.read(max, offset));
      offset += bytes.length;
      return bytes;
    },
    close() {
      if (open) release(descriptor);
      open = false;
    },
  };
}

/** Drops a resource of the host now, and not when the engine collects it. */
function release(resource) {
  resource[Symbol.dispose]?.();
}

function calling(path, call) {
  try {
    return call();
  } catch (error) {
    const code = String(error?.payload ?? error?.message ?? error);
    if (code === "no-entry") throw new FileError(path, "not-found");
    if (code === "access" || code === "not-permitted") throw new FileError(path, "not-permitted");
    throw new FileError(path, "other", code.replaceAll("-", " "));
  }
}
