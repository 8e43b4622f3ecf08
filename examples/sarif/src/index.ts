// Static-analysis results in SARIF 2.1.0 (OASIS) become items: file, run, result.
import * as plumbline from "../../../plugin-sdk/js/index.js";
import type { InputFile, Output } from "../../../plugin-sdk/js/index.js";
import { object } from "./json.ts";
import { options } from "./options.ts";
import type { Options } from "./options.ts";
import { emitRun } from "./run.ts";

export const postProcessor = plumbline.postProcessor((plugin, files, out) => {
  const chosen = options(plugin);
  for (const file of files) {
    out.emit({ name: file.name, meta: { file: file.path, type: "file" } });
    const problem = emitLog(file, chosen, out);
    if (problem !== undefined) out.emit({ depth: 1, name: "unreadable", status: "unknown", meta: { error: problem } });
  }
});

/** Emits the runs of a log. Returns what is wrong if it is not a log. */
function emitLog(file: InputFile, chosen: Options, out: Output): string | undefined {
  let log;
  try {
    log = object(file.json());
  } catch (error) {
    if (error instanceof plumbline.ReadError) return error.message;
    throw error;
  }
  if (!Array.isArray(log.runs)) return "not a SARIF log: it has no list of runs";
  if (typeof log.version !== "string" || !/^2\.1\.\d+/.test(log.version)) {
    return `SARIF version ${JSON.stringify(log.version) ?? "(none)"}: this module reads 2.1.0`;
  }
  if (log.runs.length === 0) return "the log has no runs: nothing was analysed";
  for (const run of log.runs) emitRun(object(run), chosen, out);
  return undefined;
}
