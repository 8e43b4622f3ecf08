"""The nodes that expectations read, and the results that they list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from . import host


@dataclass(frozen=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True)
class Node:
    """A node of the cluster, or this machine in a local run."""

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    unschedulable: bool = False
    """Whether the node is cordoned."""
    os: str = "linux"
    """Empty if unknown."""
    arch: str = "amd64"
    """Empty if unknown."""

    @classmethod
    def from_host(cls, node: Any) -> Node:
        """Converts a node of the host."""
        taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in node.taints)
        return cls(node.name, dict(node.labels), taints, node.ready, node.unschedulable, node.os, node.arch)


class Global:
    """The type of `GLOBAL`."""


GLOBAL = Global()
"""The one result of the whole cluster."""

_bound: Any = host.binding("exports.expectations")


def result_to_wire(result: Union[Global, Node, str]) -> Any:
    """Converts an expected result for the contract."""
    if result is GLOBAL:
        return _bound.ExpectedResult_Global() if _bound is not None else ("global", None)
    name = result.name if isinstance(result, Node) else result
    if not isinstance(name, str):
        raise TypeError("an expected result is `GLOBAL`, a `Node`, or a node's name")
    return _bound.ExpectedResult_Node(name) if _bound is not None else ("node", name)
