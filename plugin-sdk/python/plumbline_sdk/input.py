"""The files of a result set, as streams."""

from __future__ import annotations

import io
import json
import re
from typing import Any, Iterator

from . import host

# Bytes requested at a time: the maximum of the host.
CHUNK = 1 << 20
# The smallest buffer. A file that grew since the call started is only read in more pieces.
SMALLEST_BUFFER = 512
# Default limit of a line in characters. It bounds what a hostile file can make a module keep.
LINE_LIMIT = 1 << 20
# Default limit in bytes of a file that is read as one text or JSON document. A parsed document
# takes several times as much.
WHOLE_LIMIT = 32 << 20


# Most levels of a JSON document. `json` recurses at each level, and a stack overflow ends the
# component. It can parse about 1,500 levels, but code that walks through the value also needs
# stack.
MAX_NESTING = 512


class ReadError(OSError):
    """A file cannot be read, or is not what the caller asked for. `str()` returns a message for
    people."""


class _Raw(io.RawIOBase):
    """A file of the host as a raw stream."""

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

    def close(self) -> None:
        # A file of the node can be closed. The host closes one of a result set.
        if hasattr(self._file, "close"):
            self._file.close()
        super().close()


class InputFile(io.BufferedReader):
    """A file of the result set, or of the node: a binary stream like that of `open(…, "rb")`. It can be read once,
    without seeking. `lines`, `text` and `json` read it as text."""

    def __init__(self, file: Any) -> None:
        self.path: str = file.path()
        """The path relative to the plugin's directory in the archive, such as
        `results/global/scan.json`."""
        self.file_name: str = self.path.rsplit("/", 1)[-1]
        """The last part of the path."""
        self.size: int = file.size()
        """The size in bytes when the call started."""
        # Each file has its own buffer from the start. Ten thousand small files must not need ten
        # thousand large buffers.
        super().__init__(_Raw(file, self.path), min(CHUNK, max(self.size + 1, SMALLEST_BUFFER)))

    def lines(self, limit: int = LINE_LIMIT) -> Iterator[str]:
        """Iterates over the lines without their ends. Invalid UTF-8 becomes U+FFFD, and a byte
        order mark is dropped. Raises `ReadError` at a line of more than `limit` characters."""
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
            # The wrapper would close the file, which belongs to the caller.
            text.detach()

    def text(self, limit: int = WHOLE_LIMIT) -> str:
        """Returns the whole text. Raises `ReadError` if it has more than `limit` bytes."""
        return self._whole(limit).decode("utf-8", "replace").removeprefix("\ufeff")

    def json(self, limit: int = WHOLE_LIMIT) -> Any:
        """Parses the file as JSON with at most 512 levels, under the same limit. Raises `ReadError`
        with the position if it is invalid."""
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
    """Raises `ReadError` if a JSON document has more than 512 levels. Call it before `json` parses
    a text that `InputFile.json` did not read."""
    if document.count("[") + document.count("{") <= MAX_NESTING:
        return
    depth = 0
    for bracket in _STRING.sub("", document).encode("utf-8", "replace").translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_NESTING:
            raise ReadError(f"the JSON document is nested more than {MAX_NESTING} levels deep")
