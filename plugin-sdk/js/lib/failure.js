/** Turns exceptions into error messages for the host. */
import { error as logError } from "./log.js";
import { text } from "./text.js";

/**
 * Returns the error message for the host. A string or a plain `Error` is thrown on purpose, so only
 * its message counts. Anything else, such as a `TypeError`, is a bug in the module: its type is
 * part of the message, and its stack goes to the log.
 */
export function sentence(thrown) {
  if (!(thrown instanceof Error)) return text(thrown) || "the module threw nothing";
  const message = text(thrown.message);
  const deliberate = thrown.constructor === Error || ["ReadError", "FileError", "NetworkError"].includes(thrown.name);
  if (deliberate && message) return message;
  logError(text(`${thrown.name}: ${message}\n${thrown.stack ?? ""}`));
  return `${thrown.name}: ${message}`;
}

/** Rejects the return value of an `async` function, because nothing would wait for it. */
export function refusePromise(returned) {
  if (typeof returned?.then === "function") {
    throw new Error("the module's function is `async`: all that it may call is synchronous, so make it a plain function");
  }
  return returned;
}

/** Rejects the return value of an `async` function or of a generator, whose code has not run. */
export function refuseUnrun(returned) {
  refusePromise(returned);
  if (typeof returned?.next === "function") {
    throw new Error("the module's function is a generator, and nothing would run it: make it a plain function");
  }
}
