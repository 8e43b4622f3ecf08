// A judge that excuses failures whose names match the option `pattern`.
import * as plumbline from "../sdk/typescript/index.js";

const OPTIONS = ["pattern", "reason", "source"];

export const judge = plumbline.judge((plugin, tree, evidence, out) => {
  const { pattern, reason = "it is known to fail", source = "" } = plugin.options;
  const unknown = Object.keys(plugin.options).find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) throw `unknown option \`${unknown}\`: the options are ${OPTIONS.join(", ")}`;
  if (typeof pattern !== "string" || typeof reason !== "string" || typeof source !== "string") {
    throw "the options `pattern`, `reason` and `source` must be strings, and `pattern` is required";
  }
  const matches = expression(pattern);
  for (const judged of tree) {
    // Keep the ruling of an earlier judge in the chain.
    if (judged.isFailure && !judged.ruling && matches.test(judged.item.name)) {
      out.rule(judged, { class: "excused", counts: false, reason, source });
    }
  }
});

/**
 * Compiles an expression for whole names. `*` matches any characters, and every other character
 * matches itself.
 */
function expression(pattern: string) {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
