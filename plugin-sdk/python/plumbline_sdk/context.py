"""What a check reads and reaches: files, environment variables, objects of the cluster, and hosts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Iterable, Iterator, Mapping, Optional, Protocol, Union

from . import host
from .files import Attributes, DirEntry, FileError, FileInfo, NodeFiles
from .input import InputFile, ReadError, check_nesting
from .network import MAX_TARGETS, Connection, NetworkError, NetworkHost, Request, Response, Target, Trust, TrustCertificates

# Default limit in bytes of a file that is read as a whole.
FILE_LIMIT = 16 << 20


@dataclass(frozen=True)
class ObjectQuery:
    """Objects of the cluster to read."""

    api_version: str
    """The API group and version, such as `v1` or `apps/v1`."""
    resource: str
    """The plural name of the resource, such as `nodes`."""
    namespace: Optional[str] = None
    """The namespace. `None` for all of them, and for objects outside namespaces."""
    labels: str = ""
    """A label selector, such as `app=web`. If empty, all objects."""
    fields: str = ""
    """A field selector, such as `spec.nodeName=node-1`. If empty, all objects."""


@dataclass(frozen=True)
class Progress:
    """The progress of a check."""

    completed: int
    """The number of completed parts."""
    total: int
    """The number of all parts, or 0 if it is not known."""
    message: str
    """What the check does now."""


class Batches(Protocol):
    """A list of a host. `next` returns some objects as JSON documents, and none at the end."""

    def next(self) -> list[str]: ...


class CheckHost(NodeFiles, NetworkHost, Protocol):
    """The host of a check: the sandbox, or a test. `list`, `get` and `Batches.next` raise
    `host.Err`."""

    def env(self, name: str) -> Optional[str]: ...

    def now(self) -> datetime: ...

    def sleep(self, seconds: float) -> None: ...

    def list(self, query: ObjectQuery) -> Batches: ...

    def get(self, query: ObjectQuery, name: str) -> Optional[str]: ...

    def report(self, progress: Progress) -> None: ...


class Context:
    """What a check may read and reach, and where it reports its progress.

    A path is that of the node, such as `/etc/kubernetes/kubelet.conf`. It must be in a directory
    that the definition grants. An error is an `OSError`: `NotFound` and `NotGranted` are the most
    important ones."""

    def __init__(self, host: CheckHost) -> None:
        self._host = host

    def open(self, path: str) -> InputFile:
        """Opens a file, to read it as a stream. Close it, or use it in a `with` statement: the host
        limits the number of open files."""
        return InputFile(self._host.open(path))

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> bytes:
        """Reads a file. Raises `FileError` if it has more than `limit` bytes."""
        with self.open(path) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise FileError(path, f"more than {limit} bytes")
        return data

    def read_text(self, path: str, limit: int = FILE_LIMIT) -> str:
        """Reads a text file. Raises `FileError` if it is not UTF-8, or has more than `limit`
        bytes."""
        try:
            return self.read_bytes(path, limit).decode()
        except UnicodeDecodeError:
            raise FileError(path, "not UTF-8") from None

    def listdir(self, path: str) -> list[DirEntry]:
        """Returns the entries of a directory, sorted by name."""
        return sorted(self._host.listdir(path), key=lambda entry: entry.name)

    def stat(self, path: str) -> FileInfo:
        """Returns the type and the size of a file or directory."""
        return self._host.stat(path)

    def attributes(self, path: str) -> Attributes:
        """Returns the owner and the mode of a file of any type, or of a directory. Follows
        links."""
        return self._host.attributes(path)

    def env(self, name: str) -> Optional[str]:
        """Returns the value of an environment variable, or `None` if it is not set or not
        granted."""
        return self._host.env(name)

    def now(self) -> datetime:
        """Returns the time of the node, in UTC."""
        return self._host.now()

    def sleep(self, seconds: float) -> None:
        """Waits. The time counts toward the time limit of the check. In a test, it returns at once,
        and the clock of the node advances."""
        self._host.sleep(seconds)

    def objects(self, api_version: str, resource: str, *, namespace: Optional[str] = None, labels: str = "", fields: str = "") -> Iterator[Any]:
        """Iterates over objects of the cluster. The host reads one page at a time. Raises
        `ReadError` if the rest cannot be read, with the missing grant."""
        query = ObjectQuery(api_version, resource, namespace, labels, fields)
        objects = _reading(lambda: self._host.list(query))
        while batch := _reading(objects.next):
            for document in batch:
                yield _parse(document)

    def object(self, api_version: str, resource: str, name: str, *, namespace: Optional[str] = None) -> Optional[Any]:
        """Returns an object of the cluster, or `None` if it does not exist."""
        query = ObjectQuery(api_version, resource, namespace)
        document = _reading(lambda: self._host.get(query, name))
        return None if document is None else _parse(document)

    def send(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Optional[Mapping[str, str]] = None,
        body: bytes = b"",
        trust: Union[Trust, TrustCertificates] = Trust.SYSTEM,
        timeout: float = 10.0,
    ) -> Response:
        """Sends an HTTP request and returns the response, whatever its status is. The URL is `http`
        or `https`, without a user. The body has at most 1 MiB. `timeout` is the time limit for
        everything in seconds: at most 5 min. Raises `NetworkError` if the definition does not grant
        the web server, or if the response is incomplete."""
        return self._host.send(Request(method, url, headers or {}, body, trust, timeout))

    def resolve(self, name: str) -> list[str]:
        """Returns the addresses of a name, by the resolver of the machine or pod. Raises
        `NetworkError` if the definition does not grant the name, or if it has no address."""
        return self._host.resolve(name)

    def connect(self, targets: Iterable[Target], *, timeout: float = 5.0, wait: float = 0.0) -> list[Union[Connection, NetworkError]]:
        """Tries to open a TCP connection to each target, many at the same time, and closes it.
        Returns one result for each target, in the same order. `timeout` is the time of one attempt
        in seconds: at most 60. Failed attempts are repeated about once a second for `wait`
        seconds."""
        rest, results = list(targets), []
        while rest:
            results.extend(self._host.connect(rest[:MAX_TARGETS], timeout, wait))
            rest = rest[MAX_TARGETS:]
        return results

    def progress(self, completed: int, total: int, message: str = "") -> None:
        """Reports that `completed` of `total` parts are done, and what the check does now. `total`
        is 0 as long as it is not known. The host skips reports that follow each other quickly."""
        self._host.report(Progress(max(completed, 0), max(total, 0), message))


def _reading(call: Any) -> Any:
    try:
        return call()
    except host.Err as error:
        raise ReadError(str(getattr(error, "value", error))) from None


def _parse(document: str) -> Any:
    check_nesting(document)
    return json.loads(document)
