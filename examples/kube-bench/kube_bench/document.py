"""The benchmarks in what kube-bench writes, in each of the forms that it had."""

from __future__ import annotations

import json
from typing import Any, Iterator

from plumbline_sdk import check_nesting


class NotKubeBench(Exception):
    """What was read is not, or not any more, what kube-bench writes. `str()` of it is a sentence."""


def benchmarks(text: str) -> Iterator[dict[str, Any]]:
    """Each benchmark, as far as they can be read: today's one object with `Controls` and `Totals`, the list that came before it, and the
    single objects, one after the other, of the first versions."""
    check_nesting(text)
    decoder = json.JSONDecoder()
    at = _skip(text, 0)
    if at == len(text):
        raise NotKubeBench("the file is empty")
    while at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except ValueError as error:
            raise NotKubeBench(f"not a JSON document: {error}") from None
        yield from _of(document)
        at = _skip(text, at)


def _of(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict) and isinstance(document.get("Controls"), list):
        found = document["Controls"]
    elif isinstance(document, dict):
        found = [document]
    else:
        found = document
    if not isinstance(found, list) or not all(isinstance(one, dict) and "tests" in one for one in found):
        raise NotKubeBench("not a report of kube-bench: it has no `Controls` with `tests`")
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
