/** The files of a result set, as streams. */
import { isNestedTooDeeply, MAX_NESTING } from "./nesting.js";
import { text } from "./text.js";
import { Utf8Decoder } from "./utf8.js";

/** Bytes requested at a time: the maximum of the host. */
const CHUNK = 1 << 20;
/** Default limit of a line in characters. It bounds what a hostile file can make a module keep. */
const LINE_LIMIT = 1 << 20;
/**
 * Default limit in bytes of a file that is read as one text, JSON document or array. A parsed
 * document takes several times as much.
 */
const WHOLE_LIMIT = 32 << 20;

/** A file cannot be read, or exceeds the limit. */
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
    /** The path relative to the plugin's directory in the archive. */
    this.path = file.path();
    /** The last part of the path. */
    this.name = this.path.slice(this.path.lastIndexOf("/") + 1);
    /** The size in bytes when the call started. */
    this.size = Number(file.size());
  }

  /** Iterates over the bytes, piece by piece. */
  *chunks() {
    if (this.#read) throw new ReadError(`file \`${this.path}\` was already read: a file can be read only once`);
    this.#read = true;
    try {
      for (;;) {
        const bytes = this.#next();
        if (bytes.length === 0) return;
        yield bytes instanceof Uint8Array ? bytes : Uint8Array.from(bytes);
      }
    } finally {
      this.close();
    }
  }

  /** Closes a file of the node. The host closes other files. */
  close() {
    this.#file.close?.();
  }

  #next() {
    try {
      return this.#file.read(CHUNK);
    } catch (error) {
      // An error of a file of the node has its path already.
      throw error instanceof ReadError ? error : new ReadError(cause(error));
    }
  }

  /**
   * Iterates over the text, piece by piece. Invalid UTF-8 becomes U+FFFD, and a byte order mark is
   * dropped.
   */
  *texts() {
    const decoder = new Utf8Decoder();
    for (const bytes of this.chunks()) {
      const piece = decoder.decode(bytes);
      if (piece !== "") yield piece;
    }
    const last = decoder.end();
    if (last !== "") yield last;
  }

  /** Iterates over the lines without their ends (`\n` or `\r\n`). */
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

  /** Returns the whole text. */
  text({ limit = WHOLE_LIMIT } = {}) {
    const pieces = [];
    const decoder = new Utf8Decoder();
    for (const bytes of this.#whole(limit)) pieces.push(decoder.decode(bytes));
    pieces.push(decoder.end());
    return pieces.join("");
  }

  /** Parses the whole file as JSON. Throws `ReadError` with the position if it is invalid. */
  json({ limit = WHOLE_LIMIT } = {}) {
    const document = this.text({ limit });
    if (isNestedTooDeeply(document)) throw new ReadError(`the JSON document is nested more than ${MAX_NESTING} levels deep`);
    try {
      return JSON.parse(document);
    } catch (error) {
      throw new ReadError(`not a JSON document: ${error.message}`);
    }
  }

  /** Returns all bytes. */
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

/**
 * The message of the host. This engine throws it directly, and other engines of the same tools wrap
 * it.
 */
function cause(error) {
  return text(error?.payload ?? error?.message ?? error);
}
