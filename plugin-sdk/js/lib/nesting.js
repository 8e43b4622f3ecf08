/** How deep a JSON document is nested: `JSON.parse` calls itself for each level, and a component that overflows its stack is ended. */

/** Levels at most. The engine stands about 5,000; who walks through the value needs some of the stack too. */
export const MAX_NESTING = 512;

/** Whether `document` has more levels than `MAX_NESTING`. What stands in strings does not count; it is skipped with the engine's own search. */
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

/** Where the string that begins at `at` ends; the end of the document where it does not. */
function endOfString(document, at) {
  for (;;) {
    at = document.indexOf('"', at + 1);
    if (at < 0) return document.length;
    // A quote after an odd number of backslashes belongs to the string.
    let before = at;
    while (document.charCodeAt(before - 1) === 0x5c) before--;
    if ((at - before) % 2 === 0) return at;
  }
}
