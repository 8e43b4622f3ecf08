/** Strings on their way to the host, which takes UTF-8 only. */

/** `value` as a string that has a form in UTF-8: half a surrogate pair becomes U+FFFD. */
export function text(value) {
  const string = typeof value === "string" ? value : String(value);
  return string.isWellFormed?.() === false ? string.toWellFormed() : string;
}

/**
 * `value` as a JSON document. `JSON.stringify` writes half a surrogate pair as an escape that is no character; it becomes U+FFFD.
 * The first branch of the pattern steps over escaped backslashes, so that what only looks like an escape stays.
 */
export function json(value) {
  const document = JSON.stringify(value);
  if (document === undefined) throw new TypeError(`${typeof value} has no form in JSON`);
  return document.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === "\\\\" ? found : "\ufffd"));
}

/** `string`, cut at a character where it has more than `max` bytes in UTF-8. */
export function shorten(string, max) {
  // No character of a string has more than three bytes; half of a pair has two of its four.
  if (string.length * 3 <= max) return string;
  let bytes = 0;
  let end = 0;
  for (const character of string) {
    const code = character.codePointAt(0);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > max) return `${string.slice(0, end)}…`;
    // The mark needs room, too.
    if (bytes <= max - 3) end += character.length;
  }
  return string;
}
