/** Prepares strings for the host, which accepts only UTF-8. */

/** Converts `value` to a string that UTF-8 can encode: half a surrogate pair becomes U+FFFD. */
export function text(value) {
  const string = typeof value === "string" ? value : String(value);
  return string.isWellFormed?.() === false ? string.toWellFormed() : string;
}

/**
 * Encodes `value` as JSON. `JSON.stringify` writes half a surrogate pair as an escape that is not a
 * character, which becomes U+FFFD. The first branch of the pattern skips escaped backslashes, so
 * that text that only looks like an escape stays.
 */
export function json(value) {
  const document = JSON.stringify(value);
  if (document === undefined) throw new TypeError(`${typeof value} cannot be encoded as JSON`);
  return document.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === "\\\\" ? found : "\ufffd"));
}

/** Returns `string`, cut at a character if it has more than `max` bytes in UTF-8. */
export function shorten(string, max) {
  // A UTF-16 unit has at most three bytes in UTF-8. Half of a pair has two of its four.
  if (string.length * 3 <= max) return string;
  let bytes = 0;
  let end = 0;
  for (const character of string) {
    const code = character.codePointAt(0);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > max) return `${string.slice(0, end)}…`;
    // The mark needs room too.
    if (bytes <= max - 3) end += character.length;
  }
  return string;
}
