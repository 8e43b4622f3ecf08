// A pull scanner for XML. It uses `indexOf`, which is far faster in the engine than a loop over characters.

/** The most characters of a tag, comment or similar: a bound on what is kept during the search for its end. */
const MAX_MARKUP = 1 << 20;

/**
 * Reads XML from pieces of text and calls `handler`: `start(name, attributes, empty)`, `end(name)`, `text(text)`.
 * `attributes` is the inside of the tag, for `attribute`. A text is what is between two tags in one piece, with
 * entities resolved. Throws `SyntaxError`.
 */
export function scan(pieces, handler) {
  let rest = "";
  for (const piece of pieces) {
    const buffer = rest === "" ? piece : rest + piece;
    const at = consume(buffer, handler);
    rest = buffer.slice(at);
    if (rest.length > MAX_MARKUP) throw new SyntaxError(`a tag or comment has more than ${MAX_MARKUP} characters`);
  }
  if (rest.startsWith("<")) throw new SyntaxError("the file ends within a tag");
  if (rest !== "") handler.text(resolved(rest));
}

/** Handles what is complete in `buffer`. Returns the offset of the rest. */
function consume(buffer, handler) {
  let at = 0;
  // The offset of the next quote of each kind: it is searched for only once, however far away it is.
  const quotes = { '"': -1, "'": -1 };
  for (;;) {
    const open = buffer.indexOf("<", at);
    if (open < 0) {
      // An entity may be cut: text after the last `&` waits for more.
      const entity = buffer.indexOf("&", Math.max(at, buffer.length - 16));
      const end = entity < 0 ? buffer.length : entity;
      if (end > at) handler.text(resolved(buffer.slice(at, end)));
      return end;
    }
    if (open > at) handler.text(resolved(buffer.slice(at, open)));
    const next = buffer.charCodeAt(open + 1);
    let end;
    if (next === 0x21 || next === 0x3f) {
      end = special(buffer, open, handler);
    } else {
      end = tagEnd(buffer, open, quotes);
      if (end > 0) tag(buffer, open, end, handler);
      end = end < 0 ? -1 : end + 1;
    }
    if (end < 0) return open;
    at = end;
  }
}

/** Returns the end of a comment, CDATA section, declaration or instruction, or -1. */
function special(buffer, open, handler) {
  const closed = (mark) => {
    const found = buffer.indexOf(mark, open);
    return found < 0 ? -1 : found + mark.length;
  };
  if (buffer.startsWith("<?", open)) return closed("?>");
  if (buffer.startsWith("<!--", open)) return closed("-->");
  if (buffer.startsWith("<![CDATA[", open)) {
    const end = closed("]]>");
    if (end > 0) handler.text(buffer.slice(open + 9, end - 3));
    return end;
  }
  // The kind is not known yet.
  if (buffer.length - open < 9) return -1;
  return closed(">");
}

/** Returns the offset of the tag's `>` outside of quotes, or -1 if it has not come yet. */
function tagEnd(buffer, open, quotes) {
  let end = buffer.indexOf(">", open);
  for (let at = open; end >= 0; ) {
    const double = nextQuote(buffer, '"', at, quotes);
    const single = nextQuote(buffer, "'", at, quotes);
    if (double > end && single > end) return end;
    const quote = double < single ? '"' : "'";
    const close = buffer.indexOf(quote, Math.min(double, single) + 1);
    if (close < 0) return -1;
    if (close > end) end = buffer.indexOf(">", close);
    at = close + 1;
  }
  return -1;
}

/** Returns the offset of the next quote of this kind, or infinity if there is none. */
function nextQuote(buffer, quote, at, quotes) {
  if (quotes[quote] < at) {
    const found = buffer.indexOf(quote, at);
    quotes[quote] = found < 0 ? Infinity : found;
  }
  return quotes[quote];
}

function tag(buffer, open, end, handler) {
  if (buffer.charCodeAt(open + 1) === 0x2f) {
    handler.end(buffer.slice(open + 2, end).trim());
    return;
  }
  const empty = buffer.charCodeAt(end - 1) === 0x2f;
  const inside = buffer.slice(open + 1, empty ? end - 1 : end);
  const space = inside.search(/\s/);
  const name = space < 0 ? inside : inside.slice(0, space);
  if (name === "") throw new SyntaxError("a tag has no name");
  handler.start(name, space < 0 ? "" : inside.slice(space), empty);
  if (empty) handler.end(name);
}

/** Returns the value of an attribute, or `undefined`. `attributes` is the inside of a tag after its name. */
export function attribute(attributes, wanted) {
  let at = 0;
  for (;;) {
    const equals = attributes.indexOf("=", at);
    if (equals < 0) return undefined;
    let begin = equals + 1;
    while (attributes.charCodeAt(begin) <= 0x20) begin++;
    const close = attributes.indexOf(attributes.charAt(begin), begin + 1);
    if (close < 0) return undefined;
    if (attributes.slice(at, equals).trim() === wanted) return resolved(attributes.slice(begin + 1, close));
    at = close + 1;
  }
}

const NAMED = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** `text` with its entities resolved; an unknown one stays as it is. */
function resolved(text) {
  if (text.indexOf("&") < 0) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(lt|gt|amp|quot|apos));/g, (found, decimal, hex, name) => {
    if (name) return NAMED[name];
    const point = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : found;
  });
}
