"""Reads the benchmarks from the output of kube-bench, in the format of each of its versions."""

from __future__ import annotations

import json
from typing import Any, Iterator

from plumbline_sdk import check_nesting


class NotKubeBench(Exception):
    """The input is not the output of kube-bench, or stops being it. `str()` of it is a sentence."""


def benchmarks(text: str) -> Iterator[dict[str, Any]]:
    """Each benchmark that can be read. Current versions write one object with `Controls` and `Totals`, older ones wrote a list,
    and the first versions wrote single objects, one after the other."""
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
