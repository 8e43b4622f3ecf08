// In Node, for tests: items go to whoever is testing.

/** @type {((items: object[]) => void) | undefined} */
let sink;

/** Says where items go from now on; `undefined` for nowhere. */
export function sendTo(take) {
  sink = take;
}

export function emit(items) {
  if (!sink) throw new Error("there is no host here: call the module through `Case` of the SDK's `testing.js`");
  sink(items);
}
