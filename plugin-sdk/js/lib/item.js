/** Converts items between the SDK and the contract. */
import { json, text } from "./text.js";

/**
 * Most characters of a name: below the 64 KiB of the host, whatever their size in bytes. A longer
 * one is cut, and the details have all of it.
 */
const MAX_NAME = 16_000;
/**
 * Most characters of all other texts of an item: below the 16 MiB of the host. Longer texts are cut
 * and marked.
 */
const MAX_TEXTS = 3 << 20;
/** Most characters of a key. */
const MAX_KEY = 1_000;

const KNOWN = new Set(["passed", "failed", "skipped", "timeout", "unknown"]);

/**
 * Converts `item` for the contract. Throws `TypeError` with the reason, which the engine's own
 * error lacks.
 */
export function toWire(item, depth) {
  if (item === null || typeof item !== "object") throw new TypeError(`an item is an object, not ${describe(item)}`);
  if (typeof item.name !== "string") throw new TypeError(`the name of an item is a string, not ${describe(item.name)}`);
  if (!Number.isInteger(depth) || depth < 0) throw new TypeError(`item \`${item.name}\`: the depth is ${describe(depth)}`);
  const name = text(item.name);
  const room = { left: MAX_TEXTS };
  const meta = entries(item.meta).map(([key, value]) => [keyOf(key), bounded(metaToWire(item, key, value), room)]);
  const details = entries(item.details).map(([key, value]) => [keyOf(key), detailToWire(item, key, value, room)]);
  if (name.length > MAX_NAME) details.push(["name", { tag: "text", val: bounded(name, room) }]);
  return { depth, name: name.length > MAX_NAME ? `${cut(name, MAX_NAME)}…` : name, status: statusToWire(item), meta, details };
}

/** Cleans a key, which can come from a file too. */
function keyOf(key) {
  return cut(text(key), MAX_KEY);
}

/** Returns as much of `value` as there is room for. */
function bounded(value, room) {
  const kept = value.length <= room.left ? value : `${cut(value, room.left)}… (${value.length - room.left} more characters)`;
  room.left = Math.max(0, room.left - value.length);
  return kept;
}

/** Returns the first `length` characters, without half of a surrogate pair. */
function cut(value, length) {
  return text(value.slice(0, length));
}

/** Characters of the texts of a wire item, which is close to their size in bytes. */
export function weight(wire) {
  let sum = wire.name.length;
  for (const [key, value] of wire.meta) sum += key.length + value.length;
  for (const [key, value] of wire.details) sum += key.length + value.val.length;
  return sum;
}

/** Converts an item of the contract for the module. */
export function fromWire(wire) {
  return {
    depth: wire.depth,
    name: wire.name,
    status: wire.status == null ? undefined : wire.status.tag === "custom" ? wire.status.val : wire.status.tag,
    meta: Object.fromEntries(wire.meta),
    details: Object.fromEntries(
      wire.details.map(([key, { tag, val }]) => [key, tag === "json" ? { json: JSON.parse(val) } : val]),
    ),
  };
}

/**
 * Returns `[key, value]` pairs of an object or a `Map`, without those whose value is `undefined` or
 * `null`.
 */
function entries(pairs) {
  if (pairs == null) return [];
  const list = pairs instanceof Map ? [...pairs] : Object.entries(pairs);
  return list.filter(([, value]) => value != null);
}

function statusToWire(item) {
  const status = item.status;
  // This engine represents `none` as `null`.
  if (status == null) return null;
  if (typeof status !== "string") throw new TypeError(`item \`${item.name}\`: the status is ${describe(status)}, not a string`);
  return KNOWN.has(status) ? { tag: status } : { tag: "custom", val: text(status) };
}

function metaToWire(item, key, value) {
  if (typeof value === "object") throw new TypeError(`item \`${item.name}\`: meta \`${key}\` is not text (structures go to details)`);
  return text(value);
}

function detailToWire(item, key, value, room) {
  if (typeof value !== "object") return { tag: "text", val: bounded(text(value), room) };
  if ("json" in value) {
    const document = json(value.json);
    // Half a document is not valid.
    if (document.length > room.left) return { tag: "text", val: `(left out: a structure of ${document.length} characters)` };
    return { tag: "json", val: bounded(document, room) };
  }
  throw new TypeError(`item \`${item.name}\`: detail \`${key}\` is neither text nor \`{ json: … }\``);
}

function describe(value) {
  return value === null ? "null" : typeof value === "object" ? "an object" : `${typeof value} ${String(value)}`;
}
