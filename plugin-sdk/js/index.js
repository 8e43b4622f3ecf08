/**
 * The SDK for Plumbline modules in JavaScript and TypeScript. A module has one function per role.
 * See README.md for an introduction and index.d.ts for the API.
 */
export { postProcessor } from "./lib/post-processor.js";
export { expectations, GLOBAL } from "./lib/expectations.js";
export { summarizer } from "./lib/summarizer.js";
export { judge } from "./lib/judge.js";
export { check } from "./lib/check.js";
export { FileError } from "./lib/files.js";
export { ReadError } from "./lib/input.js";
export { NetworkError } from "./lib/network.js";
export * as log from "./lib/log.js";
