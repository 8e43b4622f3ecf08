/**
 * Checks the nesting of JSON documents. `JSON.parse` recurses at each level, and a stack overflow
 * ends the component.
 */

/**
 * Most levels. The engine can parse about 5,000, but code that walks through the value also needs
 * stack.
 */
export const MAX_NESTING = 512;

/**
 * Returns whether `document` has more levels than `MAX_NESTING`. It skips strings with the engine's
 * own search.
 */
export function isNestedTooDeeply(document) {
  let depth = 0;
  for (let at = 0; at < document.length; at++) {
    switch (document.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(document, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > MAX_NESTING) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
    }
  }
  return false;
}

/**
 * Returns the end of the string that starts at `at`, or the end of the document if the string does
 * not end.
 */
function endOfString(document, at) {
  for (;;) {
    at = document.indexOf('"', at + 1);
    if (at < 0) return document.length;
    // A quote after an odd number of backslashes is part of the string.
    let before = at;
    while (document.charCodeAt(before - 1) === 0x5c) before--;
    if ((at - before) % 2 === 0) return at;
  }
}
