// A pull scanner for XML: it finds its way with `indexOf`, which the engine does far faster than a loop over characters.

/** Characters that a tag, comment or the like may have: a bound on what is kept while its end is looked for. */
const MAX_MARKUP = 1 << 20;

/**
 * Reads XML from pieces of text and tells `handler`: `start(name, attributes, empty)`, `end(name)`, `text(text)`. `attributes` is the inside of
 * the tag, for `attribute`. Texts come as they stand between two tags of one piece, entities resolved. Throws `SyntaxError`.
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

/** Handles what is whole in `buffer`; gives back where the rest begins. */
function consume(buffer, handler) {
  let at = 0;
  // Where the next quote of each kind is: they are looked for once, however far away they are.
  const quotes = { '"': -1, "'": -1 };
  for (;;) {
    const open = buffer.indexOf("<", at);
    if (open < 0) {
      // An entity may be cut: text after the last `&` waits.
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

/** A comment, CDATA section, declaration or instruction: where it ends, or -1. */
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

/** Where the tag's `>` is, which is not one inside of quotes; -1 where it is not there yet. */
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

/** Where the next quote of that kind is, beyond everything where there is none. */
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

/** The value of an attribute, or `undefined`; `attributes` is the inside of a tag after its name. */
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

/** `text` with its entities resolved; one that nobody knows stays. */
function resolved(text) {
  if (text.indexOf("&") < 0) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(lt|gt|amp|quot|apos));/g, (found, decimal, hex, name) => {
    if (name) return NAMED[name];
    const point = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : found;
  });
}
