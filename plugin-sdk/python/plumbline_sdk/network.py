"""What a check reaches: requests to web servers, name resolution, and connection attempts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Mapping, Optional, Protocol, Union


class NetworkErrorKind(Enum):
    """Why a request, a resolution or a connection attempt failed."""

    DENIED = "denied"
    """The definition does not grant it, or an argument is invalid."""
    NOT_FOUND = "not-found"
    """The name does not exist, or has no address."""
    REFUSED = "refused"
    """The target refused or reset the connection."""
    TIMEOUT = "timeout"
    """The time limit was exceeded."""
    TLS = "tls"
    """The TLS handshake failed: an invalid certificate, or no TLS at all."""
    OTHER = "other"
    """Another cause."""


class NetworkError(OSError):
    """A request, a resolution or a connection attempt failed. `str()` returns one sentence of the
    host."""

    def __init__(self, kind: NetworkErrorKind, cause: str) -> None:
        super().__init__(cause)
        self.kind = kind
        """Why it failed."""

    @property
    def is_of_target(self) -> bool:
        """Whether the failure says something about the target. Otherwise, a check knows nothing
        about it, so the status of its item is `UNKNOWN` and not `FAILED`."""
        return self.kind not in (NetworkErrorKind.DENIED, NetworkErrorKind.OTHER)


class Trust(Enum):
    """Which certificates of a server are accepted."""

    SYSTEM = "system"
    """Those of the CAs of the system on which the check runs."""
    ANY = "any"
    """All. Such a request proves nothing about the identity of the server."""


@dataclass(frozen=True)
class TrustCertificates:
    """Accepts the certificates of these CAs."""

    pem: str
    """Certificates in PEM form."""


@dataclass(frozen=True)
class Request:
    """An HTTP request, as `Context.send` passes it to the host."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    trust: Union[Trust, TrustCertificates]
    timeout: float


@dataclass(frozen=True)
class Response:
    """An HTTP response."""

    status: int
    """The status code. The host does not follow redirects."""
    body: bytes = b""
    """The body: at most 16 MiB. A longer one is an error."""
    headers: tuple[tuple[str, str], ...] = ()
    """The header fields, with names in lower case."""
    certificate: Optional[bytes] = None
    """The certificate of the server in DER form, if the URL is `https`."""
    address: str = ""
    """The address and port of the server."""

    def header(self, name: str) -> Optional[str]:
        """Returns the first value of a header field, whose name is in lower case."""
        return next((value for known, value in self.headers if known == name), None)


@dataclass(frozen=True)
class Target:
    """A host and port to which a check tries to connect."""

    host: str
    """A name, or an address without brackets."""
    port: int

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError(f"invalid port of `{self.host}`: {self.port}")


@dataclass(frozen=True)
class Connection:
    """A connection that was opened."""

    address: str
    """The address and port."""
    took: float = 0.0
    """The time from the start of the attempt until it was open, in seconds."""


MAX_TARGETS = 1024
"""The most targets that the host takes at once."""


class NetworkHost(Protocol):
    """The part of a host that reaches other hosts. `send` and `resolve` raise `NetworkError`."""

    def send(self, request: Request) -> Response: ...

    def resolve(self, name: str) -> list[str]: ...

    def connect(self, targets: list[Target], timeout: float, wait: float) -> list[Union[Connection, NetworkError]]:
        """Tries at most `MAX_TARGETS` connections."""


def milliseconds(seconds: float) -> int:
    """Returns a time for the host, rounded up."""
    return math.ceil(min(max(seconds * 1000, 0), 2**32 - 1))
