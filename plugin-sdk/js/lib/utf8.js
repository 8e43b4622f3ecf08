/**
 * Decodes bytes to text, piece by piece, because QuickJS has no `TextDecoder`. Invalid UTF-8
 * becomes U+FFFD as in the WHATWG encoding standard: one for each maximal part of a sequence. A
 * sequence can start in one piece and end in the next.
 */

/** Most arguments of one `String.fromCharCode`, because each uses the engine's stack. */
const ARGUMENTS = 4096;

export class Utf8Decoder {
  /** The start of an incomplete sequence: at most three bytes. */
  #rest = new Uint8Array(0);
  #begin = true;

  /** Returns the text of the next bytes. */
  decode(bytes) {
    return this.#decode(bytes, false);
  }

  /** Returns the text of an incomplete sequence at the end of the input. */
  end() {
    return this.#decode(new Uint8Array(0), true);
  }

  #decode(bytes, last) {
    if (this.#rest.length > 0) {
      const joined = new Uint8Array(this.#rest.length + bytes.length);
      joined.set(this.#rest);
      joined.set(bytes, this.#rest.length);
      bytes = joined;
    }
    const whole = last ? bytes.length : bytes.length - unfinished(bytes);
    this.#rest = bytes.slice(whole);
    // The engine's own loops are far faster than a loop in JavaScript. So turn each byte into a
    // character, and process only the parts that are not ASCII again.
    let text = fromUnits(bytes, whole);
    text = text.replace(/[\x80-\xff]+/g, decodeRun);
    if (this.#begin && text.length > 0) {
      this.#begin = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    return text;
  }
}

/** Returns how many bytes at the end are an incomplete sequence. */
function unfinished(bytes) {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back];
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < lengthOf(byte) ? back : 0;
  }
  return 0;
}

/** Returns the length of the sequence that `lead` starts, or 1 if it cannot start one. */
function lengthOf(lead) {
  return lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 1;
}

/** Returns the text of the first `length` UTF-16 units. */
function fromUnits(units, length) {
  let text = "";
  for (let at = 0; at < length; at += ARGUMENTS) {
    text += String.fromCharCode.apply(null, units.subarray(at, Math.min(at + ARGUMENTS, length)));
  }
  return text;
}

/**
 * Returns the text of a run of bytes above 0x7f, each passed as a character. It collects units in
 * an array, because the engine is very slow at adding a million single characters to a string.
 */
function decodeRun(run) {
  // A sequence never has more units than bytes.
  const units = new Uint16Array(run.length);
  let count = 0;
  let at = 0;
  while (at < run.length) {
    const lead = run.charCodeAt(at++);
    const length = lengthOf(lead);
    let point = length === 1 ? -1 : lead & (0x7f >> length);
    // After some lead bytes, the second byte has a narrower range: no overlong forms, no
    // surrogates, nothing above U+10FFFF.
    let low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    let high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    for (let more = 1; more < length; more++) {
      const byte = at < run.length ? run.charCodeAt(at) : 0;
      if (byte < low || byte > high) {
        point = -1;
        break;
      }
      at++;
      point = (point << 6) | (byte & 0x3f);
      low = 0x80;
      high = 0xbf;
    }
    if (point < 0) point = 0xfffd;
    if (point > 0xffff) {
      units[count++] = 0xd800 + ((point - 0x10000) >> 10);
      units[count++] = 0xdc00 + ((point - 0x10000) & 0x3ff);
    } else {
      units[count++] = point;
    }
  }
  return fromUnits(units, count);
}
