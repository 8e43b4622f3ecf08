/** Writes lines to the log of the run. */
import { write } from "#log";
import { text } from "./text.js";

export const debug = (message) => write("debug", text(message));
export const info = (message) => write("info", text(message));
export const warning = (message) => write("warning", text(message));
export const error = (message) => write("error", text(message));
