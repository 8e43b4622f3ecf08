"""The files of one result set, as streams."""

from __future__ import annotations

import io
import json
import re
from typing import Any, Iterator

from . import host

# What is asked for at a time: the most that the host gives.
CHUNK = 1 << 20
# The buffer of the smallest file. One that grew since the call began is read in more pieces, and that is all.
SMALLEST_BUFFER = 512
# Characters that a line may have, unless the caller says otherwise: a bound on what a hostile file can make a module keep.
LINE_LIMIT = 1 << 20
# Bytes that a file may have to be read as one text or JSON document: a parsed document takes several times as many.
WHOLE_LIMIT = 32 << 20


# Levels of a JSON document at most: `json` calls itself for each, and a component that overflows its stack is ended. It stands about 1,500;
# who walks through the value needs some of the stack too.
MAX_NESTING = 512


class ReadError(OSError):
    """A file that cannot be read, or is not what was asked for. `str()` of it is a sentence for a person."""


class _Raw(io.RawIOBase):
    """The host's file as Python's lowest kind of stream."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self.name = path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read(min(len(buffer), CHUNK))
        except host.Err as error:
            raise ReadError(str(getattr(error, "value", error))) from None
        buffer[: len(data)] = data
        return len(data)


class InputFile(io.BufferedReader):
    """A file of the result set: a binary stream like those of `open(…, "rb")`, which whatever reads files takes. It is read once, and
    cannot seek. `lines`, `text` and `json` read it as text."""

    def __init__(self, file: Any) -> None:
        self.path: str = file.path()
        """Where the file is, relative to the plugin's directory in the archive, such as `results/global/scan.json`."""
        self.file_name: str = self.path.rsplit("/", 1)[-1]
        """The last part of the path."""
        self.size: int = file.size()
        """Bytes, when the call began."""
        # A buffer of its own for each file, from the beginning: ten thousand small files must not cost ten thousand large ones.
        super().__init__(_Raw(file, self.path), min(CHUNK, max(self.size + 1, SMALLEST_BUFFER)))

    def lines(self, limit: int = LINE_LIMIT) -> Iterator[str]:
        """The lines, without their ends. What is not UTF-8 becomes U+FFFD, and a byte order mark is left out. A line of more than
        `limit` characters is a `ReadError`."""
        text = io.TextIOWrapper(self, encoding="utf-8", errors="replace", newline="\n")
        try:
            number = 0
            while line := text.readline(limit + 2):
                number += 1
                if number == 1 and line.startswith("\ufeff"):
                    line = line[1:]
                if line.endswith("\n"):
                    line = line[:-2] if line.endswith("\r\n") else line[:-1]
                if len(line) > limit:
                    raise ReadError(f"line {number} has more than {limit} characters")
                yield line
        finally:
            # The wrapper closes what it wraps when it goes; the file is the caller's.
            text.detach()

    def text(self, limit: int = WHOLE_LIMIT) -> str:
        """The whole text. More than `limit` bytes are a `ReadError`."""
        return self._whole(limit).decode("utf-8", "replace").removeprefix("\ufeff")

    def json(self, limit: int = WHOLE_LIMIT) -> Any:
        """The file as a JSON document, under the same limit, of at most 512 levels. One that is none is a `ReadError` that says where."""
        document = self.text(limit)
        check_nesting(document)
        try:
            return json.loads(document)
        except ValueError as error:
            raise ReadError(f"not a JSON document: {error}") from None

    def _whole(self, limit: int) -> bytes:
        data = self.read(limit + 1)
        if len(data) > limit:
            raise ReadError(f"the file has more than {limit} bytes")
        return data


_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def check_nesting(document: str) -> None:
    """Raises `ReadError` when a JSON document has more than 512 levels: before `json` is given a text that did not come through
    `InputFile.json`."""
    if document.count("[") + document.count("{") <= MAX_NESTING:
        return
    depth = 0
    for bracket in _STRING.sub("", document).encode("utf-8", "replace").translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_NESTING:
            raise ReadError(f"the JSON document is nested more than {MAX_NESTING} levels deep")
