"""Converts XML events to items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from plumbline_sdk import InputFile, Item, Output, Status

# Elements of a test case whose text is kept; those with `True` have a message too.
PARTS = {
    "skipped": True,
    "failure": True,
    "error": True,
    "rerunFailure": True,
    "rerunError": True,
    "flakyFailure": True,
    "flakyError": True,
    "system-out": False,
    "system-err": False,
}
# Levels of suites: the host accepts 64 levels in total.
MAX_DEPTH = 48
# Characters of one text.
MAX_TEXT = 1 << 20


class NotJunit(Exception):
    """The file is XML, but not a test report."""


@dataclass
class _Suite:
    name: str
    emitted: bool = False
    suites: int = 0
    cases: int = 0


@dataclass
class _Case:
    name: str
    depth: int
    skipped: bool = False
    failed: bool = False
    texts: dict[str, str] = field(default_factory=dict)


@dataclass
class _Part:
    name: str
    depth: int
    message: Optional[str]
    pieces: list[str] = field(default_factory=list)
    kept: int = 0


class Report:
    """Converts one file to items."""

    def __init__(self, file: InputFile, out: Output) -> None:
        self._out = out
        self._depth = 0
        self._root = _Suite("")
        self._suites: list[_Suite] = []
        self._case: Optional[_Case] = None
        self._part: Optional[_Part] = None
        self._tested = False
        out.emit(Item(file.file_name, meta={"file": file.path, "type": "file"}))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handles the start of an element."""
        self._depth += 1
        if self._depth == 1 and name not in ("testsuites", "testsuite"):
            raise NotJunit(f"root element `{name}` is not `testsuites` or `testsuite`")
        if self._part is not None:
            return
        case = self._case
        if case is not None:
            if name in PARTS and self._depth == case.depth + 1:
                self._part = _Part(name, self._depth, attributes.get("message") if PARTS[name] else None)
                case.skipped |= name == "skipped"
                case.failed |= name in ("failure", "error")
        elif name == "testsuite":
            parent = self._suites[-1] if self._suites else self._root
            parent.suites += 1
            self._suites.append(_Suite(attributes.get("name") or f"testsuite-{parent.suites:03}"))
        elif name == "testcase":
            self._case = _Case(attributes.get("name") or attributes.get("classname") or "", self._depth)

    def text(self, text: str) -> None:
        """Handles text, in pieces."""
        part = self._part
        if part is not None and part.kept < MAX_TEXT:
            part.pieces.append(text[: MAX_TEXT - part.kept])
            part.kept += len(text)

    def end(self, name: str) -> None:
        """Handles the end of an element."""
        depth = self._depth
        self._depth -= 1
        if self._part is not None:
            if depth == self._part.depth:
                self._close_part(self._part)
        elif self._case is not None:
            if depth == self._case.depth:
                self._close_case(self._case)
        elif name == "testsuite":
            if not self._suites[-1].emitted:
                # An empty suite counts as one passed test.
                self._release(Status.PASSED)
            self._suites.pop()

    def finish(self) -> None:
        """Completes the report after the whole file was read."""
        if not self._tested:
            self._unknown("no test case", "the report has no test case: nothing was tested")

    def break_off(self, error: str) -> None:
        """Completes the report if the file could not be read to its end."""
        self._unknown(f"unreadable: {error[:200]}", error)

    def _unknown(self, name: str, error: str) -> None:
        self._release(None)
        self._out.emit(Item(name, 1, Status.UNKNOWN, {"error": error}))

    def _release(self, status: Optional[Status]) -> None:
        """Emits the suites that were held back until they got a child."""
        for at, suite in enumerate(self._suites):
            if not suite.emitted:
                suite.emitted = True
                last = at == len(self._suites) - 1
                self._out.emit(Item(suite.name, min(at + 1, MAX_DEPTH), status if last else None))

    def _close_part(self, part: _Part) -> None:
        self._part = None
        case = self._case
        text = "".join(part.pieces)
        if PARTS[part.name]:
            text = (f"{part.message} {text}" if part.message else text).strip()
        if case is None or (text == "" and part.message is None):
            return
        if part.name == "skipped" and text.lower() in ("", "skipped"):
            return
        earlier = case.texts.get(part.name)
        case.texts[part.name] = f"{earlier}\n{text}" if earlier else text

    def _close_case(self, case: _Case) -> None:
        self._case = None
        self._tested = True
        number = 1
        if self._suites:
            suite = self._suites[-1]
            suite.cases += 1
            number = suite.cases
            if not suite.emitted:
                self._release(None)
        status = Status.SKIPPED if case.skipped else Status.FAILED if case.failed else Status.PASSED
        depth = min(len(self._suites), MAX_DEPTH) + 1
        self._out.emit(Item(case.name or f"testcase-{number:03}", depth, status, {}, case.texts))
