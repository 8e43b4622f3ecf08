// In Node, for tests: items go to the test.

/** @type {((items: object[]) => void) | undefined} */
let sink;

/** Sets the receiver of items. `undefined` discards them. */
export function sendTo(take) {
  sink = take;
}

export function emit(items) {
  if (!sink) throw new Error("no host found: call the module through `Case` of the SDK's `testing.js`");
  sink(items);
}
