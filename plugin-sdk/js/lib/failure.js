/** From what was thrown to the sentence that the host is given. */
import { error as logError } from "./log.js";
import { text } from "./text.js";

/**
 * A string, or a plain `Error`, was thrown on purpose: its message is the sentence. Anything else, such as a `TypeError`, is a mistake
 * in the module: its type belongs to the sentence, and where it happened to the log.
 */
export function sentence(thrown) {
  if (!(thrown instanceof Error)) return text(thrown) || "the module threw nothing";
  const message = text(thrown.message);
  const deliberate = thrown.constructor === Error || thrown.name === "ReadError";
  if (deliberate && message) return message;
  logError(text(`${thrown.name}: ${message}\n${thrown.stack ?? ""}`));
  return `${thrown.name}: ${message}`;
}

/** Refuses what an `async` function returned: nobody would wait for it. */
export function refusePromise(returned) {
  if (typeof returned?.then === "function") {
    throw new Error("the module's function is `async`: all that it may call is synchronous, so make it a plain function");
  }
  return returned;
}
