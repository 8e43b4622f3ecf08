"""From an exception to the sentence that the host is given."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Optional

from . import log
from .input import ReadError


class ModuleError(Exception):
    """Raise this when nothing can be done at all, such as with options that make no sense: its text is the sentence that people see."""


def sentence(raised: BaseException) -> str:
    """What the host is told. A `ModuleError` or `ReadError` was meant; any other exception is a mistake in the module, so its type and
    place belong to the sentence, and the way there to the log."""
    if isinstance(raised, (ModuleError, ReadError)) and str(raised):
        return str(raised)
    text = f"{type(raised).__name__}: {_text(raised)}"
    frames = _frames(raised.__traceback__)
    for file, line, function in frames:
        log.error(f"{file}, line {line}, in {function}")
    return f"{text} ({_place(frames)})" if frames else text


# Frames that are kept: the innermost ones, also of a recursion that never ends.
_FRAMES = 20

_Frame = tuple[str, int, str]


def _frames(at: Optional[TracebackType]) -> list[_Frame]:
    """The way to the exception, innermost last. Not by the module `traceback`: it looks for the source files, and a component that
    looks for files is ended."""
    frames: deque[_Frame] = deque(maxlen=_FRAMES)
    while at is not None:
        code = at.tb_frame.f_code
        frames.append((code.co_filename, at.tb_lineno, code.co_name))
        at = at.tb_next
    return [(file.rsplit("/", 1)[-1], line, function) for file, line, function in frames if _PACKAGE not in file]


_PACKAGE = "/plumbline_sdk/"


def _place(frames: list[_Frame]) -> str:
    """Where it happened. What the standard library was doing there is in the log."""
    file, line, _ = frames[-1]
    return f"{file}, line {line}"


def _text(raised: BaseException) -> str:
    try:
        return str(raised)
    except Exception:
        return "(its text cannot be had)"
