// In Node, for tests: a test says what a check reads.

/** @type {object | undefined} */
let host;

/** Sets the host of a check. */
export function readFrom(take) {
  host = take;
}

/** Returns the host of a check. */
export function node() {
  if (!host) throw new Error("no host found: call the module through `Case` of the SDK's `testing.js`");
  return host;
}
