"""Converts a benchmark of a report to items."""

from __future__ import annotations

from typing import Any, Iterable, Optional, Union

from plumbline_sdk import Item, Output, Status

from .options import Options

# Characters of one text. The output of an audit can be the whole list of processes, repeated for each check.
MAX_TEXT = 8192
# Characters of the actual value in the line that says what is wrong. `actual` has the whole value.
MAX_FOUND = 120


def emit_benchmark(benchmark: dict[str, Any], options: Options, out: Output) -> int:
    """Emits the benchmark at depth 1, and returns the number of its checks."""
    meta = {"type": "benchmark", "version": _text(benchmark.get("version")), "node-type": _text(benchmark.get("node_type"))}
    out.emit(Item(_name(benchmark.get("id"), benchmark.get("text"), "benchmark"), 1, meta=meta))
    checks = 0
    for section in _objects(benchmark.get("tests"), out, 2):
        out.emit(Item(_name(section.get("section"), section.get("desc"), "section"), 2, meta={"type": "section"}))
        for check in _objects(section.get("results"), out, 3):
            out.emit(_item(check, options))
            checks += 1
    return checks


def _item(check: dict[str, Any], options: Options) -> Item:
    status = _status(check, options)
    details: dict[str, Optional[str]] = {}
    reason = _text(check.get("reason"))
    if status == Status.SKIPPED:
        details["skipped"] = reason
    elif status != Status.PASSED:
        details["failure"] = reason or _difference(check) or "kube-bench gives no reason"
        details["remediation"] = _text(check.get("remediation"))
        details["audit"] = _text(check.get("audit"))
        details["expected"] = _text(check.get("expected_result"))
        details["actual"] = _text(check.get("actual_value"))
    scored = check.get("scored")
    meta = {
        "number": _text(check.get("test_number")),
        "scored": str(scored).lower() if isinstance(scored, bool) else None,
        "kind": _text(check.get("type")),
    }
    return Item(_name(check.get("test_number"), check.get("test_desc"), "check"), 3, status, meta, details)


def _status(check: dict[str, Any], options: Options) -> Union[Status, str]:
    word = check.get("status")
    if word == "PASS":
        return Status.PASSED
    if word == "FAIL":
        return Status.FAILED
    # Checks that a person must do by hand get the status of the option `warn`.
    if word in ("WARN", "MANU"):
        return options.warn
    # A check that the configuration skips has `INFO`.
    if word in ("INFO", "SKIP"):
        return Status.SKIPPED
    return Status.UNKNOWN


def _difference(check: dict[str, Any]) -> Optional[str]:
    expected, actual = _text(check.get("expected_result")), _text(check.get("actual_value"))
    if expected is None:
        return None
    if actual is None:
        return f"expected {expected}, found nothing"
    return f"expected {expected}, found {actual[:MAX_FOUND]}" + ("…" if len(actual) > MAX_FOUND else "")


def _objects(entries: Any, out: Output, depth: int) -> Iterable[dict[str, Any]]:
    """The objects of a list. Anything else becomes an item with the status `unknown`."""
    if entries is None:
        return
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, dict):
            yield entry
        else:
            out.emit(Item("unreadable", depth, Status.UNKNOWN, {"error": "expected an object"}))


def _name(number: Any, text: Any, otherwise: str) -> str:
    return " ".join(part for part in (_text(number), _text(text)) if part) or f"({otherwise} without a name)"


def _text(value: Any) -> Optional[str]:
    """A text or number as trimmed text; `None` for empty text and all other values. A long text is cut, with a note."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = str(value).strip()
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}… ({len(text) - MAX_TEXT} more characters)"
    return text or None
