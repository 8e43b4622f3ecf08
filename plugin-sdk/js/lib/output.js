/** Sends the tree in batches, so that neither side holds a whole result. */
import { emit } from "#output";
import { toWire, weight } from "./item.js";

/** Most items in a batch. */
const BATCH_ITEMS = 256;
/**
 * Characters of texts after which a batch is sent: far below the limit of a call, even at four
 * bytes each.
 */
const BATCH_CHARACTERS = 1 << 20;
/**
 * Most levels of nested `items`: more than the host accepts, and few enough for the engine's stack.
 */
const MAX_NESTING = 256;

export class Output {
  #batch = [];
  #characters = 0;

  /** Appends an item, and its `items` one level deeper. */
  emit(item) {
    this.#append(item, item?.depth ?? 0, 0);
  }

  /** Sends what is pending. The SDK does this when a batch is full and at the end of the call. */
  flush() {
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#characters = 0;
    emit(batch);
  }

  #append(item, depth, nesting) {
    if (nesting > MAX_NESTING) throw new RangeError(`items are nested more than ${MAX_NESTING} levels deep`);
    const wire = toWire(item, depth);
    this.#batch.push(wire);
    this.#characters += weight(wire);
    if (this.#batch.length >= BATCH_ITEMS || this.#characters >= BATCH_CHARACTERS) this.flush();
    for (const child of item.items ?? []) this.#append(child, depth + 1, nesting + 1);
  }
}
