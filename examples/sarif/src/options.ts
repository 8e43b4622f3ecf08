import type { Plugin } from "../../../plugin-sdk/js/index.js";

/** Levels of a result whose kind is `fail` (SARIF 2.1.0, 3.27.10), worst first. */
export const LEVELS = ["error", "warning", "note", "none"] as const;
export type Level = (typeof LEVELS)[number];

export interface Options {
  /** Levels that fail; the others become statuses of their own. */
  failOn: ReadonlySet<Level>;
}

/** The options of the definition. Throws an error for an unknown one: a misspelt option must not change what passes. */
export function options(plugin: Plugin): Options {
  for (const key of Object.keys(plugin.options)) {
    if (key !== "fail-on") throw new Error(`unknown option \`${key}\`: the only option of \`sarif\` is \`fail-on\``);
  }
  const levels = plugin.options["fail-on"] ?? ["error"];
  if (!Array.isArray(levels)) throw new Error("the option `fail-on` must be a list of levels, such as `[error, warning]`");
  if (levels.length === 0) throw new Error(`the option \`fail-on\` names no level, so nothing could fail; levels are ${LEVELS.join(", ")}`);
  for (const level of levels) {
    if (!isLevel(level)) throw new Error(`the option \`fail-on\` names \`${level}\`; levels are ${LEVELS.join(", ")}`);
  }
  return { failOn: new Set(levels as Level[]) };
}

export function isLevel(value: unknown): value is Level {
  return (LEVELS as readonly unknown[]).includes(value);
}
