/** Errors and paths of the files that a check reads on the node. */
import { ReadError } from "./input.js";

const CAUSES = {
  "not-granted": "no granted directory contains it",
  "not-found": "it does not exist",
  "not-permitted": "not permitted",
};

/** A file or directory of the node cannot be read. */
export class FileError extends ReadError {
  constructor(path, code, cause = CAUSES[code]) {
    super(`failed to read \`${path}\`: ${cause}`);
    this.name = "FileError";
    /** The path on the node. */
    this.path = path;
    /** `not-granted`, `not-found`, `not-permitted`, `too-large` or `other`. */
    this.code = code;
  }
}

/**
 * Returns the part of `path` below `directory`, or `undefined` if it is not in it. The directory
 * itself is `.`.
 */
export function below(path, directory) {
  const base = directory.replace(/\/+$/, "");
  if (path !== directory && !path.startsWith(`${base}/`)) return undefined;
  return path.slice(base.length).replace(/^\/+/, "") || ".";
}

/**
 * Returns the innermost of `directories` (pairs of a path and a value) that contains `path`: its
 * value, and the path in it.
 */
export function locate(path, directories) {
  let best;
  for (const [directory, value] of directories) {
    const rest = below(path, directory);
    if (rest !== undefined && (!best || directory.length > best.length)) best = { length: directory.length, value, rest };
  }
  if (!best) throw new FileError(path, "not-granted");
  return best;
}
