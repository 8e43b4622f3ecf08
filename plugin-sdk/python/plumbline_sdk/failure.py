"""From an exception to the sentence that the host is given."""

from __future__ import annotations

import traceback

from . import log
from .input import ReadError


class ModuleError(Exception):
    """Raise this when nothing can be done at all, such as with options that make no sense: its text is the sentence that people see."""


def sentence(raised: BaseException) -> str:
    """What the host is told. A `ModuleError` or `ReadError` was meant; any other exception is a mistake in the module, so its type and
    place belong to the sentence, and the way there to the log."""
    if isinstance(raised, (ModuleError, ReadError)) and str(raised):
        return str(raised)
    text = "".join(traceback.TracebackException.from_exception(raised, lookup_lines=False).format_exception_only())
    frames = traceback.extract_tb(raised.__traceback__, limit=-_FRAMES) if raised.__traceback__ else []
    for frame in frames:
        log.error(f"{_file(frame.filename)}, line {frame.lineno}, in {frame.name}")
    place = _place(frames)
    return f"{text.strip()} ({place})" if place else text.strip()


# Frames that go to the log: the innermost ones, of a recursion that never ends too.
_FRAMES = 20


def _place(frames: list[traceback.FrameSummary] | traceback.StackSummary) -> str:
    """The innermost line of the module itself, not of a library that it called."""
    for frame in reversed(frames):
        name = frame.filename
        if "plumbline_sdk" not in name and not name.startswith("/python/") and not name.startswith("<"):
            return f"{_file(name)}, line {frame.lineno}"
    return ""


def _file(path: str) -> str:
    return path.rsplit("/", 1)[-1]
