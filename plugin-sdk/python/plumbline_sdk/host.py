"""The functions of the host: the generated bindings in a component, a substitute natively.

The bindings exist only while componentize-py makes a component, and only those of its world. They
are all imported at build time, because the finished component has no file system to import from.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable, Optional

try:
    importlib.import_module("wit_world")
    IN_COMPONENT = True
except ImportError:
    IN_COMPONENT = False


def binding(name: str) -> Optional[ModuleType]:
    """Returns the generated module `wit_world.NAME`, or `None` natively and if the world has no
    such interface."""
    if not IN_COMPONENT:
        return None
    try:
        return importlib.import_module(f"wit_world.{name}")
    except ImportError:
        return None


class HostError(Exception):
    """The substitute raises this where the host returns an error. `value` is the message."""

    def __init__(self, value: str) -> None:
        super().__init__(value)
        self.value = value


@dataclass
class Native:
    """Receives items, lines, rulings and checks natively, and is what a check reads, for tests."""

    emit: Optional[Callable[[list[Any]], None]] = None
    write: Optional[Callable[[str, str], None]] = None
    rule: Optional[Callable[[list[Any]], None]] = None
    report: Optional[Callable[[list[Any]], None]] = None
    check: Optional[Any] = None


native = Native()

# The type of the host's errors, which also carries a module's own error message.
Err: Any = importlib.import_module("componentize_py_types").Err if IN_COMPONENT else HostError
