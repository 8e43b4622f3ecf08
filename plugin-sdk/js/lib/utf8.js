/**
 * From bytes to text, piece by piece, where the engine has no `TextDecoder`: QuickJS has none. What is not UTF-8 becomes U+FFFD, as
 * the WHATWG encoding standard has it (one for each maximal part of a sequence), and a sequence may begin in one piece and end in the next.
 */

/** Arguments of one `String.fromCharCode`: each goes on the engine's stack. */
const ARGUMENTS = 4096;

export class Utf8Decoder {
  /** The begin of a sequence whose end was not there yet: three bytes at most. */
  #rest = new Uint8Array(0);
  #begin = true;

  /** The text of the next bytes. */
  decode(bytes) {
    return this.#decode(bytes, false);
  }

  /** The text of what was begun and will not be ended. */
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
    // The engine's own loops are far faster than a loop in the language: each byte becomes a character, and only what is not ASCII is
    // looked at again.
    let text = fromUnits(bytes, whole);
    text = text.replace(/[\x80-\xff]+/g, decodeRun);
    if (this.#begin && text.length > 0) {
      this.#begin = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    return text;
  }
}

/** Bytes at the end that begin a sequence and do not end it. */
function unfinished(bytes) {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back];
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < lengthOf(byte) ? back : 0;
  }
  return 0;
}

/** Bytes of the sequence that `lead` begins; 1 where it cannot begin one. */
function lengthOf(lead) {
  return lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 1;
}

/** The text of the first `length` UTF-16 units. */
function fromUnits(units, length) {
  let text = "";
  for (let at = 0; at < length; at += ARGUMENTS) {
    text += String.fromCharCode.apply(null, units.subarray(at, Math.min(at + ARGUMENTS, length)));
  }
  return text;
}

/**
 * The text of a run of bytes above 0x7f, each given as a character. Gathered in an array: the engine takes very long to add a million single
 * characters to a text.
 */
function decodeRun(run) {
  // No sequence makes more units than it has bytes.
  const units = new Uint16Array(run.length);
  let count = 0;
  let at = 0;
  while (at < run.length) {
    const lead = run.charCodeAt(at++);
    const length = lengthOf(lead);
    let point = length === 1 ? -1 : lead & (0x7f >> length);
    // The second byte has a narrower range after some leads: overlong forms, surrogates, and what is above U+10FFFF.
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
