import * as plumbline from "@SDK@/index.js";

export const judge = plumbline.judge((plugin, tree, evidence, out) => {
  const { "at-most": most = 0, ...others } = plugin.options;
  if (Object.keys(others).length > 0) throw "the option `at-most` is a number, and there is no other";
  const list = new Map(evidence.flatMap((file) => [...file.lines()].map((line) => [line, file.path])));
  let excused = 0;
  for (const judged of tree) {
    const source = list.get(judged.item.name);
    if (source === undefined || !judged.isFailure || judged.ruling) continue;
    out.rule(judged, { class: "quarantined", counts: false, reason: judged.set, source });
    excused += 1;
  }
  const outcome = excused <= most ? "passed" : "failed";
  out.report({ id: "QUARANTINE-001", name: "few are excused", outcome, got: excused });
});
