/** The rules for items that the host enforces (`wit/types.wit`). */

const MAX_NAME = 64 << 10;
const MAX_CUSTOM_STATUS = 256;

/** Returns what is wrong with a wire item after one of depth `previous`, as a sentence. */
export function problem(item, previous) {
  const deepest = previous === undefined ? 0 : previous + 1;
  if (item.depth > deepest) {
    return `item \`${item.name}\` has depth ${item.depth}, but at most ${deepest} can follow here`;
  }
  if (item.name === "") return `an item at depth ${item.depth} has an empty name`;
  if (size(item.name) > MAX_NAME) return `the name \`${item.name.slice(0, 60)}…\` has ${size(item.name)} bytes (at most ${MAX_NAME})`;
  if (item.status?.tag === "custom" && (item.status.val === "" || size(item.status.val) > MAX_CUSTOM_STATUS)) {
    return `the custom status of item \`${item.name}\` is empty or longer than ${MAX_CUSTOM_STATUS} bytes`;
  }
  return undefined;
}

function size(text) {
  return new TextEncoder().encode(text).length;
}
