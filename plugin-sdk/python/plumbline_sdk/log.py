"""Writes lines to the log of the run. Lines above its limit are dropped."""

from __future__ import annotations

import io
import sys

from . import host

_log = host.binding("imports.log")


def debug(message: str) -> None:
    """Writes a line for debugging."""
    _write("debug", message)


def info(message: str) -> None:
    """Writes an informational line."""
    _write("info", message)


def warning(message: str) -> None:
    """Writes a line about something that may be wrong."""
    _write("warning", message)


def error(message: str) -> None:
    """Writes a line about something that is wrong."""
    _write("error", message)


def _write(level: str, message: str) -> None:
    if _log is not None:
        _log.write(_log.Level[level.upper()], message)
    elif host.native.write is not None:
        host.native.write(level, message)
    else:
        print(f"{level}: {message}", file=sys.stderr)


class _Lines(io.TextIOBase):
    """A standard stream whose lines go to the log, because a component has no other output."""

    # Most characters of a line without an end that are held.
    LIMIT = 4096

    def __init__(self, level: str) -> None:
        self._level = level
        self._open = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._open = (self._open + text).split("\n")
        for line in lines:
            _write(self._level, line)
        if len(self._open) > self.LIMIT:
            _write(self._level, self._open)
            self._open = ""
        return len(text)


if host.IN_COMPONENT:
    sys.stdout = _Lines("info")
    sys.stderr = _Lines("warning")
