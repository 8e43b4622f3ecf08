/** The resources of the host, as a module sees them. */

/** A file that delivers `chunk` bytes at a time. */
export function file({ path, pieces, error }, chunk) {
  const source = typeof pieces === "function" ? pieces() : pieces;
  const iterator = source[Symbol.iterator]();
  let piece = new Uint8Array(0);
  return {
    path: () => path,
    size: () => (Array.isArray(pieces) ? pieces.reduce((sum, { length }) => sum + length, 0) : 0),
    read(max) {
      while (piece.length === 0) {
        const { value, done } = iterator.next();
        if (done && error !== undefined) throw error;
        if (done) return new Uint8Array(0);
        piece = typeof value === "string" ? new TextEncoder().encode(value) : value;
      }
      const given = piece.slice(0, Math.min(chunk, max));
      piece = piece.subarray(given.length);
      return given;
    },
  };
}

/** All entries in the order of the host: by the names of their sets. */
export function results(entries, error) {
  const sorted = [...entries].sort((one, other) => (one.set < other.set ? -1 : one.set > other.set ? 1 : 0));
  let at = 0;
  return {
    next(max) {
      const batch = sorted.slice(at, at + max);
      at += batch.length;
      if (batch.length === 0 && error !== undefined) throw error;
      return batch;
    },
  };
}
