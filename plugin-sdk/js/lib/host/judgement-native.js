// In Node, for tests: rulings and checks go to the test.

/**
 * @type {{ rule(rulings: [number, object][]): void, report(checks: object[]): void } | undefined}
 */
let host;

/** Sets the receiver of rulings and checks. `undefined` discards them. */
export function sendTo(take) {
  host = take;
}

export function rule(rulings) {
  there().rule(rulings);
}

export function report(checks) {
  there().report(checks);
}

function there() {
  if (!host) throw new Error("no host found: call the module through `Case` of the SDK's `testing.js`");
  return host;
}
