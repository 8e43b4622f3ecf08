// In Node, for tests: lines go to whoever is testing, and to standard error where nobody is.

/** @type {((level: string, message: string) => void) | undefined} */
let sink;

/** Says where lines go from now on; `undefined` for standard error. */
export function sendTo(take) {
  sink = take;
}

export function write(level, message) {
  if (sink) sink(level, message);
  else console.error(`${level}: ${message}`);
}
