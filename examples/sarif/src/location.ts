// Where a result is (SARIF 2.1.0, 3.28 to 3.33), in the form that editors and terminals turn into links: `file:line:column`.
import { index, list, object, text } from "./json.ts";
import type { Json } from "./json.ts";

/** The place of `location`, or `undefined` if it has none. */
export function place(location: Json, run: Json): string | undefined {
  const physical = object(location.physicalLocation);
  const file = artifact(object(physical.artifactLocation), run);
  if (file !== undefined) return file + region(object(physical.region));
  for (const logical of list(location.logicalLocations).map(object)) {
    const at = index(logical.index);
    const shared = at === undefined ? {} : object(list(run.logicalLocations)[at]);
    const name = text(logical.fullyQualifiedName) ?? text(shared.fullyQualifiedName) ?? text(logical.name) ?? text(shared.name);
    if (name !== undefined) return name;
  }
  return undefined;
}

/** A file as the log names it, relative to its base: the base itself means nothing on another machine. */
function artifact(location: Json, run: Json): string | undefined {
  const at = index(location.index);
  const shared = at === undefined ? {} : object(object(list(run.artifacts)[at]).location);
  return text(location.uri) ?? text(shared.uri);
}

function region(region: Json): string {
  const line = region.startLine;
  if (!Number.isInteger(line)) return "";
  return Number.isInteger(region.startColumn) ? `:${line}:${region.startColumn}` : `:${line}`;
}
