// One run of one tool.
import type { Item, Output } from "../../../plugin-sdk/js/index.js";
import { list, object, text } from "./json.ts";
import type { Json } from "./json.ts";
import { place } from "./location.ts";
import { message } from "./message.ts";
import type { Options } from "./options.ts";
import { Rules } from "./rules.ts";
import type { Described } from "./rules.ts";
import { verdict } from "./verdict.ts";

/** Related places that are listed; the rest are counted. */
const MAX_RELATED = 10;

/** Emits `run` at depth 1, and its results below it. */
export function emitRun(run: Json, options: Options, out: Output): void {
  const rules = new Rules(run);
  const trouble = list(run.invocations).map(object).flatMap((invocation) => failedInvocation(invocation, run, rules));
  const elsewhere = list(object(run.externalPropertyFileReferences).results).length > 0;
  const results = Array.isArray(run.results) ? run.results : undefined;
  if (results === undefined && !elsewhere && trouble.length === 0) {
    trouble.push(unknown("no results", "the tool did not begin its analysis: the run has no list of results"));
  }
  if (elsewhere) trouble.push(unknown("results elsewhere", "the run's results are in files of their own, which are not read"));
  // A run that found nothing has passed. It needs its own status, because it has no items below it.
  const clean = results?.length === 0 && trouble.length === 0;
  out.emit({ depth: 1, ...heading(run), status: clean ? "passed" : undefined });
  for (const item of trouble) out.emit(item);
  for (const result of results ?? []) {
    const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
    out.emit(isObject ? resultItem(object(result), run, rules, options) : unknown("(no result)", "a result must be a JSON object"));
  }
}

function heading(run: Json): Item {
  const driver = object(object(run.tool).driver);
  const name = text(driver.name) ?? "a tool without a name";
  const version = text(driver.version) ?? text(driver.semanticVersion);
  const meta = { type: "run", tool: name, version, run: text(object(run.automationDetails).id) };
  return { name: version === undefined ? name : `${name} ${version}`, meta };
}

function resultItem(result: Json, run: Json, rules: Rules, options: Options): Item {
  const rule = rules.of(result);
  const { status, skipped } = verdict(result, rule, run, options);
  const where = list(result.locations).map((location) => place(object(location), run)).find((found) => found !== undefined);
  const id = rule.id ?? "(no rule)";
  const said = message(object(result.message), rule) ?? noText(object(result.message));
  return {
    depth: 2,
    name: where === undefined ? id : `${id} ${where}`,
    status,
    meta: {
      rule: rule.id,
      "rule-name": text(rule.descriptor.name),
      location: where,
      help: text(rule.descriptor.helpUri),
      baseline: text(result.baselineState),
    },
    details: {
      // The text of a result that passed or was skipped is not a failure.
      [status === "passed" || status === "skipped" ? "message" : "failure"]: said,
      skipped,
      snippet: snippet(result),
      related: related(result, run, rule),
    },
  };
}

function noText(message: Json): string {
  const id = text(message.id);
  return id === undefined ? "(no text)" : `(the log has no text for message \`${id}\`)`;
}

function snippet(result: Json): string | undefined {
  const region = object(object(object(list(result.locations)[0]).physicalLocation).region);
  return text(object(region.snippet).text);
}

/** Other places that belong to a result, one per line. */
function related(result: Json, run: Json, rule: Described): string | undefined {
  const locations = list(result.relatedLocations).map(object);
  if (locations.length === 0) return undefined;
  const lines = locations.slice(0, MAX_RELATED).map((location) => {
    const parts = [place(location, run), message(object(location.message), rule)];
    return parts.filter((part) => part !== undefined).join(": ");
  });
  if (locations.length > MAX_RELATED) lines.push(`… and ${locations.length - MAX_RELATED} more`);
  return lines.join("\n");
}

/** A tool that failed has not looked at everything, so its run must not pass. */
function failedInvocation(invocation: Json, run: Json, rules: Rules): Item[] {
  if (invocation.executionSuccessful !== false) return [];
  const notifications = [...list(invocation.toolExecutionNotifications), ...list(invocation.toolConfigurationNotifications)];
  const lines = notifications.map((entry) => {
    const notification = object(entry);
    const descriptor = rules.notification(object(notification.descriptor));
    const said = message(object(notification.message), descriptor) ?? descriptor.id ?? "(no text)";
    const level = text(notification.level) ?? text(object(descriptor.descriptor.defaultConfiguration).level) ?? "warning";
    const where = list(notification.locations).map((location) => place(object(location), run)).find((found) => found !== undefined);
    return `${level}: ${where === undefined ? "" : `${where}: `}${said}`;
  });
  const reasons = [text(invocation.processStartFailureMessage), text(invocation.exitCodeDescription), text(invocation.exitSignalName)];
  const code = Number.isInteger(invocation.exitCode) ? [`exit code ${invocation.exitCode}`] : [];
  const reason = [...reasons, ...code].find((found) => found !== undefined);
  return [unknown("execution", ["the tool failed", reason].filter(Boolean).join(": "), lines.join("\n"))];
}

function unknown(name: string, error: string, details?: string): Item {
  return { depth: 2, name, status: "unknown", meta: { error }, details: { error: details || undefined } };
}
