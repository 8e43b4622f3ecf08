/** Sends rulings and checks in batches. */
import { report, rule } from "#judgement";
import { shorten, text } from "./text.js";

/** Most rulings or checks in a batch. */
const BATCH = 256;
/**
 * Most bytes of a text, except class and ID. The host ends the call at more, so a longer one is
 * cut.
 */
const MAX_TEXT = 4 << 10;
/** Most characters of a check's ID. */
const MAX_ID = 64;

const CLASS = /^[a-z0-9-]{1,64}$/;
const OUTCOMES = new Set(["passed", "failed", "unknown"]);

export class Rulings {
  #rulings = [];
  #checks = [];

  /** Rules on an item of the tree, or on the one with that number. */
  rule(item, ruling) {
    const index = typeof item === "number" ? item : item?.index;
    if (!Number.isSafeInteger(index) || index < 0) throw new TypeError("a ruling is on an item of the tree, or on its number");
    const { class: word, counts, reason = "", source = "" } = object(ruling, "a ruling");
    if (typeof word !== "string" || !CLASS.test(word)) {
      throw new TypeError(`a class has 1 to 64 of the characters a-z, 0-9 and \`-\`, unlike \`${String(word)}\``);
    }
    if (typeof counts !== "boolean") throw new TypeError(`ruling \`${word}\`: \`counts\` is neither true nor false`);
    this.#rulings.push([index, { class: word, counts, reason: short(reason), source: short(source) }]);
    if (this.#rulings.length >= BATCH) this.flush();
  }

  /** Reports a check. Checks are shown in this order. */
  report(check) {
    const { id, name = "", outcome, want = "", got = "", reason = "" } = object(check, "a check");
    if (typeof id !== "string" || id === "" || [...id].length > MAX_ID) {
      throw new TypeError(`the id of a check has 1 to ${MAX_ID} characters, unlike \`${String(id)}\``);
    }
    if (!OUTCOMES.has(outcome)) throw new TypeError(`check \`${id}\`: the outcome is \`passed\`, \`failed\` or \`unknown\``);
    const texts = { name: short(name), want: short(want), got: short(got), reason: short(reason) };
    this.#checks.push({ id: text(id), outcome, ...texts });
    if (this.#checks.length >= BATCH) this.flush();
  }

  /** Sends what is pending. The SDK does this when a batch is full and at the end of the call. */
  flush() {
    const [rulings, checks] = [this.#rulings, this.#checks];
    this.#rulings = [];
    this.#checks = [];
    if (rulings.length > 0) rule(rulings);
    if (checks.length > 0) report(checks);
  }
}

function object(value, what) {
  if (value === null || typeof value !== "object") throw new TypeError(`${what} is an object, not ${String(value)}`);
  return value;
}

function short(value) {
  return shorten(text(value), MAX_TEXT);
}
