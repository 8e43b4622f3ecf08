"""The host of a check in a component: files, variables and the clock through WASI, the rest through
the contract.

The build gives the functions of WASI to the SDK under names that begin with `host`, because it
replaces those that Python itself would call.
"""

from __future__ import annotations

import math
import sys
import time
from datetime import datetime, timezone
from typing import Any, Optional, Union

from . import host
from .context import Batches, ObjectQuery, Progress
from .files import Attributes, DirEntry, FileError, FileInfo, FileType, NotFound, NotGranted, NotPermitted
from .network import Connection, NetworkError, NetworkErrorKind, Request, Response, Target, Trust, TrustCertificates, milliseconds

_files: Any = host.binding("imports.host_filesystem_types")
_preopens: Any = host.binding("imports.preopens")
_environment: Any = host.binding("imports.environment")
_clock: Any = host.binding("imports.wall_clock")
_timers: Any = host.binding("imports.monotonic_clock")
_cluster: Any = host.binding("imports.cluster")
_network: Any = host.binding("imports.network")
_ownership: Any = host.binding("imports.ownership")
_progress: Any = host.binding("imports.progress")


def below(path: str, directory: str) -> Optional[str]:
    """Returns the part of `path` below `directory`, or `None` if it is not in it. The directory
    itself is `.`."""
    if path != directory and not path.startswith(directory.rstrip("/") + "/"):
        return None
    return path[len(directory) :].lstrip("/") or "."


class Sandbox:
    """The host in a component."""

    def __init__(self) -> None:
        self._directories = [(directory, descriptor) for descriptor, directory in _preopens.get_directories()]

    def open(self, path: str) -> _File:
        descriptor = self._open_at(path, _files.OpenFlags(0))
        about = _calling(path, descriptor.stat)
        if about.type == _files.DescriptorType.DIRECTORY:
            _release(descriptor)
            raise FileError(path, "is a directory")
        return _File(path, about.size, descriptor)

    def listdir(self, path: str) -> list[DirEntry]:
        with self._open_at(path, _files.OpenFlags.DIRECTORY) as descriptor:
            with _calling(path, descriptor.read_directory) as stream:
                entries = []
                while entry := _calling(path, stream.read_directory_entry):
                    entries.append(DirEntry(entry.name, _type(entry.type)))
                return entries

    def stat(self, path: str) -> FileInfo:
        directory, rest = self._locate(path)
        about = _calling(path, lambda: directory.stat_at(_files.PathFlags.SYMLINK_FOLLOW, rest))
        return FileInfo(_type(about.type), about.size)

    def attributes(self, path: str) -> Attributes:
        self._locate(path)
        try:
            found = _ownership.read(path)
        except host.Err as error:
            raise FileError(path, error.value) from None
        if found is None:
            raise NotFound(path)
        return Attributes(found.mode, found.uid, found.gid)

    def env(self, name: str) -> Optional[str]:
        return dict(_environment.get_environment()).get(name)

    def now(self) -> datetime:
        now = _clock.now()
        return datetime.fromtimestamp(now.seconds, timezone.utc).replace(microsecond=now.nanoseconds // 1000)

    def sleep(self, seconds: float) -> None:
        _sleep(seconds)

    def send(self, request: Request) -> Response:
        headers = list(request.headers.items())
        timeout = max(milliseconds(request.timeout), 1)
        lowered = _network.Request(request.method, request.url, headers, request.body, _trust(request.trust), timeout)
        found = _reaching(lambda: _network.send(lowered))
        certificate = None if found.certificate is None else bytes(found.certificate)
        return Response(found.status, bytes(found.body), tuple(found.headers), certificate, found.address)

    def resolve(self, name: str) -> list[str]:
        return _reaching(lambda: _network.resolve(name))  # type: ignore[no-any-return]

    def connect(self, targets: list[Target], timeout: float, wait: float) -> list[Union[Connection, NetworkError]]:
        lowered = [_network.Target(target.host, target.port) for target in targets]
        results = _network.connect(lowered, max(milliseconds(timeout), 1), milliseconds(wait))
        return [_failure(one.value) if isinstance(one, host.Err) else Connection(one.value.address, one.value.microseconds / 1e6) for one in results]

    def list(self, query: ObjectQuery) -> Batches:
        return _cluster.list(_cluster.Query(query.api_version, query.resource, query.namespace, query.labels, query.fields))  # type: ignore[no-any-return]

    def get(self, query: ObjectQuery, name: str) -> Optional[str]:
        return _cluster.get(query.api_version, query.resource, query.namespace, name)  # type: ignore[no-any-return]

    def report(self, progress: Progress) -> None:
        _progress.report(progress.completed, progress.total, progress.message)

    def _locate(self, path: str) -> tuple[Any, str]:
        """Returns the innermost granted directory that contains `path`, and the path in it."""
        found = [(len(directory), descriptor, rest) for directory, descriptor in self._directories if (rest := below(path, directory))]
        if not found:
            raise NotGranted(path)
        _, descriptor, rest = max(found, key=lambda one: one[0])
        return descriptor, rest

    def _open_at(self, path: str, flags: Any) -> Any:
        directory, rest = self._locate(path)
        return _calling(path, lambda: directory.open_at(_files.PathFlags.SYMLINK_FOLLOW, rest, flags, _files.DescriptorFlags.READ))


class _File:
    """An open file."""

    def __init__(self, path: str, size: int, descriptor: Any) -> None:
        self._path, self._size, self._descriptor, self._offset = path, size, descriptor, 0

    def path(self) -> str:
        return self._path

    def size(self) -> int:
        return self._size

    def read(self, max: int) -> bytes:
        data, _ = _calling(self._path, lambda: self._descriptor.read(max, self._offset))
        self._offset += len(data)
        return bytes(data)

    def close(self) -> None:
        if self._descriptor is not None:
            _release(self._descriptor)
            self._descriptor = None


def _sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    with _timers.subscribe_duration(math.ceil(min(seconds * 1e9, 2**63))) as timer:
        timer.block()


def redirect_sleep() -> None:
    """Makes `time.sleep` wait through the host, also where it was imported by name. The build replaces
    what it would call by a stub, which ends the component."""
    own = time.sleep
    if _timers is None or own is _sleep:
        return
    time.sleep = _sleep
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is own:
                setattr(module, name, _sleep)


def _release(resource: Any) -> None:
    """Drops a resource of the host now, and not when Python collects it."""
    resource.__exit__(None, None, None)


def _calling(path: str, call: Any) -> Any:
    try:
        return call()
    except host.Err as error:
        code = error.value.name
    if code == "NO_ENTRY":
        raise NotFound(path)
    if code in ("ACCESS", "NOT_PERMITTED"):
        raise NotPermitted(path)
    raise FileError(path, code.lower().replace("_", " "))


def _trust(trust: Union[Trust, TrustCertificates]) -> Any:
    if isinstance(trust, TrustCertificates):
        return _network.Trust_Certificates(trust.pem)
    return _network.Trust_Any() if trust is Trust.ANY else _network.Trust_System()


def _reaching(call: Any) -> Any:
    try:
        return call()
    except host.Err as error:
        raise _failure(error.value) from None


_KINDS = {
    "Failure_Denied": NetworkErrorKind.DENIED,
    "Failure_NotFound": NetworkErrorKind.NOT_FOUND,
    "Failure_Refused": NetworkErrorKind.REFUSED,
    "Failure_Timeout": NetworkErrorKind.TIMEOUT,
    "Failure_Tls": NetworkErrorKind.TLS,
}


def _failure(failure: Any) -> NetworkError:
    return NetworkError(_KINDS.get(type(failure).__name__, NetworkErrorKind.OTHER), failure.value)


def _type(found: Any) -> FileType:
    names = {"REGULAR_FILE": FileType.FILE, "DIRECTORY": FileType.DIRECTORY, "SYMBOLIC_LINK": FileType.LINK}
    return names.get(found.name, FileType.OTHER)
