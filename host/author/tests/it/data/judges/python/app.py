from plumbline_sdk import Check, ModuleError, Outcome, Ruling, judge


@judge
def quarantine(plugin, tree, evidence, out):
    if set(plugin.options) - {"at-most"}:
        raise ModuleError("the option `at-most` is a number, and there is no other")
    known = {line: file.path for file in evidence for line in file.lines()}
    excused = 0
    for judged in tree:
        if judged.is_failure and judged.ruling is None and judged.item.name in known:
            out.rule(judged, Ruling("quarantined", counts=False, reason=judged.set, source=known[judged.item.name]))
            excused += 1
    outcome = Outcome.PASSED if excused <= plugin.options.get("at-most", 0) else Outcome.FAILED
    out.report(Check("QUARANTINE-001", "few are excused", outcome, got=str(excused)))
