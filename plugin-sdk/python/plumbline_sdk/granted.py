"""The host of a check in a test: directories and recorded objects."""

from __future__ import annotations

import json
import os
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, BinaryIO, Iterator, Optional, TypeVar, Union

from . import host
from .context import ObjectQuery, Progress
from .files import Attributes, DirEntry, FileError, FileInfo, FileType, NotFound, NotGranted, NotPermitted
from .network import Connection, NetworkError, NetworkErrorKind, Request, Response, Target
from .sandbox import below

_T = TypeVar("_T")


@dataclass
class Granted:
    """What a check may read in a case."""

    directories: dict[str, str] = field(default_factory=dict)
    """Directories of the node, and where they are on disk."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files of the node."""
    variables: dict[str, str] = field(default_factory=dict)
    time: Optional[datetime] = None
    """`None` for the time of this machine."""
    lists: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    """Objects by API version and resource."""
    errors: dict[tuple[str, str], str] = field(default_factory=dict)
    """The errors after the objects."""
    owners: dict[str, Attributes] = field(default_factory=dict)
    """Owners and modes by path."""
    responses: dict[tuple[str, str], Union[Response, NetworkError]] = field(default_factory=dict)
    """Responses by method and URL."""
    names: dict[str, Union[list[str], NetworkError]] = field(default_factory=dict)
    """Addresses by name."""
    connections: dict[tuple[str, int], Union[Connection, NetworkError]] = field(default_factory=dict)
    progress: list[Progress] = field(default_factory=list)
    slept: timedelta = timedelta()
    """How long the check has waited, by its own account."""

    def fresh(self) -> Granted:
        """Returns a copy without progress."""
        fresh = copy(self)
        fresh.progress, fresh.slept = [], timedelta()
        return fresh

    def open(self, path: str) -> _File:
        if path in self.files:
            return _File(path, self.files[path], None)
        disk = self._locate(path)
        if os.path.isdir(disk):
            raise FileError(path, "is a directory")
        if not os.path.isfile(disk):
            raise NotPermitted(path)
        try:
            return _File(path, b"", open(disk, "rb"))
        except PermissionError:
            raise NotPermitted(path) from None

    def listdir(self, path: str) -> list[DirEntry]:
        disk = self._locate(path)
        if not os.path.isdir(disk):
            raise FileError(path, "not a directory")
        with os.scandir(disk) as entries:
            return [DirEntry(entry.name, _type(entry.path)) for entry in entries]

    def stat(self, path: str) -> FileInfo:
        if path in self.files:
            return FileInfo(FileType.FILE, len(self.files[path]))
        disk = self._locate(path)
        return FileInfo(_type(disk), os.stat(disk).st_size)

    def attributes(self, path: str) -> Attributes:
        if path in self.owners:
            return self.owners[path]
        return Attributes(0o040755 if self.stat(path).type is FileType.DIRECTORY else 0o100644)

    def env(self, name: str) -> Optional[str]:
        return self.variables.get(name)

    def now(self) -> datetime:
        return (self.time or datetime.now(timezone.utc)) + self.slept

    def sleep(self, seconds: float) -> None:
        self.slept += timedelta(seconds=seconds)

    def send(self, request: Request) -> Response:
        key = (request.method, request.url)
        return _raised(self.responses.get(key) or _denied(" ".join(key), "response"))

    def resolve(self, name: str) -> list[str]:
        return _raised(self.names[name] if name in self.names else _denied(name, "name"))

    def connect(self, targets: list[Target], timeout: float, wait: float) -> list[Union[Connection, NetworkError]]:
        return [self.connections.get((one.host, one.port)) or _denied(f"{one.host}:{one.port}", "connection") for one in targets]

    def list(self, query: ObjectQuery) -> _Recorded:
        return _Recorded(iter(self._found(query)), self.errors.get((query.api_version, query.resource)))

    def get(self, query: ObjectQuery, name: str) -> Optional[str]:
        found = [given for given in self._found(query) if given.get("metadata", {}).get("name") == name]
        error = self.errors.get((query.api_version, query.resource))
        if not found and error is not None:
            raise host.HostError(error)
        return json.dumps(found[0]) if found else None

    def report(self, progress: Progress) -> None:
        self.progress.append(progress)

    def _locate(self, path: str) -> str:
        """Returns where `path` is on disk. As in the sandbox, it leads nowhere outside the
        directory."""
        found = [(len(directory), disk, rest) for directory, disk in self.directories.items() if (rest := below(path, directory))]
        if not found:
            raise NotGranted(path)
        _, disk, rest = max(found)
        root, target = os.path.realpath(disk), os.path.realpath(os.path.join(disk, rest))
        if target != root and not target.startswith(root + "/"):
            raise NotPermitted(path)
        if not os.path.exists(target):
            raise NotFound(path)
        return target

    def _found(self, query: ObjectQuery) -> list[Any]:
        key = (query.api_version, query.resource)
        if key not in self.lists and key not in self.errors:
            raise host.HostError(f"the case grants no `{query.resource}` of `{query.api_version}`: add them with `Case.objects`")
        objects = self.lists.get(key, [])
        return [given for given in objects if query.namespace in (None, given.get("metadata", {}).get("namespace"))]


class _File:
    """An open file: content in memory, or a file on disk."""

    def __init__(self, path: str, content: bytes, disk: Optional[BinaryIO]) -> None:
        self._path, self._content, self._disk = path, content, disk

    def path(self) -> str:
        return self._path

    def size(self) -> int:
        return len(self._content) if self._disk is None else os.fstat(self._disk.fileno()).st_size

    def read(self, max: int) -> bytes:
        if self._disk is not None:
            return self._disk.read(max)
        given, self._content = self._content[:max], self._content[max:]
        return given

    def close(self) -> None:
        if self._disk is not None:
            self._disk.close()


class _Recorded:
    """Recorded objects, a few at a time, so that a check sees more than one batch."""

    def __init__(self, objects: Iterator[Any], error: Optional[str]) -> None:
        self._objects, self._error = objects, error

    def next(self) -> list[str]:
        batch = [json.dumps(given) for _, given in zip(range(3), self._objects)]
        if not batch and self._error is not None:
            raise host.HostError(self._error)
        return batch


def _denied(what: str, method: str) -> NetworkError:
    return NetworkError(NetworkErrorKind.DENIED, f"the case does not grant `{what}`: add it with `Case.{method}`")


def _raised(result: Union[_T, NetworkError]) -> _T:
    if isinstance(result, NetworkError):
        raise result
    return result


def _type(disk: str) -> FileType:
    if os.path.islink(disk):
        return FileType.LINK
    if os.path.isdir(disk):
        return FileType.DIRECTORY
    return FileType.FILE if os.path.isfile(disk) else FileType.OTHER
