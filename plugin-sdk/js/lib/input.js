/** The files of one result set, as streams. */
import { isNestedTooDeeply, MAX_NESTING } from "./nesting.js";
import { text } from "./text.js";
import { Utf8Decoder } from "./utf8.js";

/** What is asked for at a time: the most that the host gives. */
const CHUNK = 1 << 20;
/** Characters that a line may have, unless the caller says otherwise: a bound on what a hostile file can make a module keep. */
const LINE_LIMIT = 1 << 20;
/** Bytes that a file may have to be read as one text, JSON document or array: a parsed document takes several times as many. */
const WHOLE_LIMIT = 32 << 20;

/** A file that cannot be read, or is larger than what was asked for. */
export class ReadError extends Error {
  constructor(message) {
    super(message);
    this.name = "ReadError";
  }
}

export class InputFile {
  #file;
  #read = false;

  constructor(file) {
    this.#file = file;
    /** Where the file is, relative to the plugin's directory in the archive. */
    this.path = file.path();
    /** The last part of the path. */
    this.name = this.path.slice(this.path.lastIndexOf("/") + 1);
    /** Bytes, when the call began. */
    this.size = Number(file.size());
  }

  /** The bytes, piece by piece. */
  *chunks() {
    if (this.#read) throw new ReadError(`file \`${this.path}\` was read already: a file can be read once`);
    this.#read = true;
    for (;;) {
      let bytes;
      try {
        bytes = this.#file.read(CHUNK);
      } catch (error) {
        throw new ReadError(cause(error));
      }
      if (bytes.length === 0) return;
      yield bytes instanceof Uint8Array ? bytes : Uint8Array.from(bytes);
    }
  }

  /** The text, piece by piece; what is not UTF-8 becomes U+FFFD, a byte order mark is left out. */
  *texts() {
    const decoder = new Utf8Decoder();
    for (const bytes of this.chunks()) {
      const piece = decoder.decode(bytes);
      if (piece !== "") yield piece;
    }
    const last = decoder.end();
    if (last !== "") yield last;
  }

  /** The lines, without their ends (`\n` or `\r\n`). */
  *lines({ limit = LINE_LIMIT } = {}) {
    let open = "";
    let number = 0;
    for (const piece of this.texts()) {
      const parts = piece.split("\n");
      for (let at = 0; at < parts.length; at++) {
        const line = at === 0 ? open + parts[at] : parts[at];
        if (line.length > limit) throw new ReadError(`line ${number + 1} has more than ${limit} characters`);
        if (at === parts.length - 1) {
          open = line;
        } else {
          number++;
          yield withoutReturn(line);
        }
      }
    }
    if (open !== "") yield withoutReturn(open);
  }

  /** The whole text. */
  text({ limit = WHOLE_LIMIT } = {}) {
    const pieces = [];
    const decoder = new Utf8Decoder();
    for (const bytes of this.#whole(limit)) pieces.push(decoder.decode(bytes));
    pieces.push(decoder.end());
    return pieces.join("");
  }

  /** The whole file as a JSON document. A file that is none is a `ReadError`, which says where it breaks. */
  json({ limit = WHOLE_LIMIT } = {}) {
    const document = this.text({ limit });
    if (isNestedTooDeeply(document)) throw new ReadError(`the JSON document is nested more than ${MAX_NESTING} levels deep`);
    try {
      return JSON.parse(document);
    } catch (error) {
      throw new ReadError(`not a JSON document: ${error.message}`);
    }
  }

  /** The whole file. */
  bytes({ limit = WHOLE_LIMIT } = {}) {
    const pieces = [...this.#whole(limit)];
    const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  *#whole(limit) {
    let bytes = 0;
    for (const piece of this.chunks()) {
      bytes += piece.length;
      if (bytes > limit) throw new ReadError(`the file has more than ${limit} bytes`);
      yield piece;
    }
  }
}

function withoutReturn(line) {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** The engine throws the host's sentence as it is; other engines of the same tool family wrap it. */
function cause(error) {
  return text(error?.payload ?? error?.message ?? error);
}
