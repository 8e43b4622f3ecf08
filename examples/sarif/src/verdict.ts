// Determines the status of a result.
import type { Status } from "../../../plugin-sdk/js/index.js";
import { index, list, object } from "./json.ts";
import type { Json } from "./json.ts";
import { isLevel } from "./options.ts";
import type { Level, Options } from "./options.ts";
import type { Described } from "./rules.ts";

/** The status of `result`, and the reason if it is skipped. */
export function verdict(result: Json, rule: Described, run: Json, options: Options): { status: Status; skipped?: string } {
  const kind = typeof result.kind === "string" ? result.kind : "fail";
  switch (kind) {
    case "pass":
      return { status: "passed" };
    case "notApplicable":
      return { status: "skipped", skipped: "the rule does not apply here" };
    case "informational":
    case "review":
    case "open":
      // Not known to be wrong, but worth a look: it keeps its kind as its status.
      return { status: kind };
    case "fail":
      break;
    default:
      return { status: "unknown" };
  }
  const suppressed = suppression(result);
  if (suppressed !== undefined) return { status: "skipped", skipped: suppressed };
  if (result.baselineState === "absent") return { status: "skipped", skipped: "no longer there: it was in the baseline only" };
  const severity = level(result, rule, run);
  if (severity === undefined) return { status: "unknown" };
  return { status: options.failOn.has(severity) ? "failed" : severity };
}

/**
 * Why a result is suppressed. All suppressions must be accepted, as one without a status is: if one is rejected or under review (3.35.3),
 * the result is not settled.
 */
function suppression(result: Json): string | undefined {
  const suppressions = list(result.suppressions).map(object);
  const [first] = suppressions;
  if (!first || !suppressions.every(({ status }) => status === undefined || status === "accepted")) return undefined;
  const where = first.kind === "inSource" ? "suppressed in the source" : "suppressed";
  return typeof first.justification === "string" ? `${where}: ${first.justification}` : where;
}

/**
 * The level of a result of kind `fail`: its own, else the one configured for its rule, else `warning` (3.27.10). `undefined`: a level that
 * the standard does not define, so its severity is unknown.
 */
function level(result: Json, rule: Described, run: Json): Level | undefined {
  if (result.level !== undefined && !isLevel(result.level)) return undefined;
  const candidates = [result.level, override(result, rule, run), object(rule.descriptor.defaultConfiguration).level];
  return candidates.find(isLevel) ?? "warning";
}

/** The level that the invocation which found `result` gave to its rule. */
function override(result: Json, rule: Described, run: Json): unknown {
  const at = index(object(result.provenance).invocationIndex);
  if (at === undefined) return undefined;
  const overrides = list(object(list(run.invocations)[at]).ruleConfigurationOverrides).map(object);
  const about = overrides.find(({ descriptor }) => {
    const reference = object(descriptor);
    const position = index(reference.index);
    const described = position === undefined ? undefined : object(list(rule.component.rules)[position]);
    return described ? described === rule.descriptor : reference.id !== undefined && reference.id === rule.descriptor.id;
  });
  return object(about?.configuration).level;
}
