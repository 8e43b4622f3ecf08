"""Errors and types of the files that a check reads on the node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from .input import ReadError


class FileError(ReadError):
    """A file or directory of the node cannot be read. `str()` returns a message with the path and
    the cause."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(f"failed to read `{path}`: {cause}")
        self.path = path
        """The path on the node."""


class NotGranted(FileError, PermissionError):
    """No granted directory contains the path, or the granted directory does not exist on the
    node."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "no granted directory contains it")


class NotFound(FileError, FileNotFoundError):
    """The file or directory does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "it does not exist")


class NotPermitted(FileError, PermissionError):
    """The host does not open it: a link out of the granted directory, a pipe, socket or device, a
    file with the memory of a process, or a file that the user of the process may not read."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "not permitted")


class FileType(Enum):
    """The type of a file."""

    FILE = "file"
    """A regular file."""
    DIRECTORY = "directory"
    """A directory."""
    LINK = "link"
    """A symbolic link."""
    OTHER = "other"
    """A pipe, socket or device, which a check cannot open."""


@dataclass(frozen=True)
class DirEntry:
    """An entry of a directory."""

    name: str
    """The name, without the directory."""
    type: FileType
    """The type. Links are not followed."""


@dataclass(frozen=True)
class FileInfo:
    """Facts about a file or directory."""

    type: FileType
    """The type, after following links."""
    size: int
    """The size in bytes; 0 for most files of `/proc` and `/sys`."""


@dataclass(frozen=True)
class Attributes:
    """The owner and the mode of a file, by POSIX."""

    mode: int
    """The type and the permissions, such as `0o100600` (`st_mode`)."""
    uid: int = 0
    """The user ID."""
    gid: int = 0
    """The group ID."""

    @property
    def permissions(self) -> int:
        """The permissions, such as `0o600`."""
        return self.mode & 0o7777


class NodeFile(Protocol):
    """An open file of a host, as `InputFile` reads it."""

    def path(self) -> str: ...

    def size(self) -> int: ...

    def read(self, max: int) -> bytes: ...

    def close(self) -> None: ...


class NodeFiles(Protocol):
    """The part of a host that reads files. Each function raises `FileError`."""

    def open(self, path: str) -> NodeFile: ...

    def listdir(self, path: str) -> list[DirEntry]: ...

    def stat(self, path: str) -> FileInfo: ...

    def attributes(self, path: str) -> Attributes: ...
