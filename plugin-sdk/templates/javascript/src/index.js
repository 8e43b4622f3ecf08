// Reads `*.verdicts` files. Each line is the result of a check: `ok NAME` or `bad NAME: reason`.
import * as plumbline from "../sdk/javascript/index.js";

export const postProcessor = plumbline.postProcessor((plugin, files, out) => {
  for (const file of files) {
    // No status: the host rolls it up from the children.
    out.emit({ name: file.name, meta: { file: file.path, type: "file" } });
    try {
      for (const line of file.lines()) {
        const item = verdict(line);
        if (item) out.emit(item);
      }
    } catch (error) {
      // Continue with the next file, but never let an unreadable one pass. Any other error is a bug
      // in this module.
      if (!(error instanceof plumbline.ReadError)) throw error;
      out.emit({ depth: 1, name: "unreadable", status: "unknown", meta: { error: error.message } });
    }
  }
});

function verdict(line) {
  const [, word, name, reason] = /^(\S+)\s+([^:]*)(?::(.*))?$/.exec(line) ?? [];
  if (!name?.trim()) return undefined;
  const status = { ok: "passed", bad: "failed" }[word] ?? "unknown";
  return { depth: 1, name: name.trim(), status, details: { failure: reason?.trim() || undefined } };
}
