/**
 * Write a module for Plumbline in JavaScript or TypeScript: one function per role, and everything else is done here.
 * README.md beside this file begins at the beginning; index.d.ts describes what there is.
 */
export { postProcessor } from "./lib/post-processor.js";
export { expectations, GLOBAL } from "./lib/expectations.js";
export { summarizer } from "./lib/summarizer.js";
export { judge } from "./lib/judge.js";
export { ReadError } from "./lib/input.js";
export * as log from "./lib/log.js";
