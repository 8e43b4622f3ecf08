"""A judge that excuses failures whose names match the option `pattern`."""

import re
from typing import Iterable

from plumbline_sdk import InputFile, JudgedItem, ModuleError, Plugin, Ruling, Rulings, judge

OPTIONS = {"pattern", "reason", "source"}


@judge
def excuse(plugin: Plugin, tree: Iterable[JudgedItem], evidence: list[InputFile], out: Rulings) -> None:
    unknown = sorted(set(plugin.options) - OPTIONS)
    if unknown:
        raise ModuleError(f"unknown option `{unknown[0]}`: the options are {', '.join(sorted(OPTIONS))}")
    if not all(isinstance(value, str) for value in plugin.options.values()) or "pattern" not in plugin.options:
        raise ModuleError("the options `pattern`, `reason` and `source` must be strings, and `pattern` is required")
    reason = plugin.options.get("reason", "it is known to fail")
    excused = Ruling("excused", counts=False, reason=reason, source=plugin.options.get("source", ""))
    matches = expression(plugin.options["pattern"])
    for judged in tree:
        # Keep the ruling of an earlier judge in the chain.
        if judged.is_failure and judged.ruling is None and matches.fullmatch(judged.item.name):
            out.rule(judged, excused)


def expression(pattern: str) -> "re.Pattern[str]":
    """Compiles an expression for whole names. `*` matches any characters, and every other character
    matches itself."""
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
