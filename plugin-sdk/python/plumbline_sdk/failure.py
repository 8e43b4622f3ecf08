"""Turns exceptions into error messages for the host."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Optional

from . import log
from .input import ReadError
from .network import NetworkError


class ModuleError(Exception):
    """Raise this if nothing can be done at all, for example if options contradict each other.
    People see its text."""


def sentence(raised: BaseException) -> str:
    """Returns the error message for the host. A `ModuleError`, `ReadError` or `NetworkError` is
    deliberate. Any other exception is a bug in the module, so the message also has its type and
    place, and the traceback goes to the log."""
    if isinstance(raised, (ModuleError, ReadError, NetworkError)) and str(raised):
        return str(raised)
    text = f"{type(raised).__name__}: {_text(raised)}"
    frames = _frames(raised.__traceback__)
    for file, line, function in frames:
        log.error(f"{file}, line {line}, in {function}")
    return f"{text} ({_place(frames)})" if frames else text


# Most frames of a traceback: the innermost ones, also for infinite recursion.
_FRAMES = 20

_Frame = tuple[str, int, str]


def _frames(at: Optional[TracebackType]) -> list[_Frame]:
    """Returns the traceback, innermost frame last. The module `traceback` would look for source
    files, which ends a component."""
    frames: deque[_Frame] = deque(maxlen=_FRAMES)
    while at is not None:
        code = at.tb_frame.f_code
        frames.append((code.co_filename, at.tb_lineno, code.co_name))
        at = at.tb_next
    return [(file.rsplit("/", 1)[-1], line, function) for file, line, function in frames if _PACKAGE not in file]


_PACKAGE = "/plumbline_sdk/"


def _place(frames: list[_Frame]) -> str:
    """Returns the innermost place. The whole traceback is in the log."""
    file, line, _ = frames[-1]
    return f"{file}, line {line}"


def _text(raised: BaseException) -> str:
    try:
        return str(raised)
    except Exception:
        return "(its text cannot be had)"
