// In Node, for tests: lines go to the test, or to standard error.

/** @type {((level: string, message: string) => void) | undefined} */
let sink;

/** Sets the receiver of lines. `undefined` is standard error. */
export function sendTo(take) {
  sink = take;
}

export function write(level, message) {
  if (sink) sink(level, message);
  else console.error(`${level}: ${message}`);
}
