"""What the host gives: the generated bindings in a component, a stand-in natively.

The bindings exist only while componentize-py makes a component, and only those of the world that is built. All of it is imported when the
module is made and never later: the finished component has no file system to import from.
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
    """The generated module `wit_world.NAME`; `None` natively, or where the world that is built has no such interface."""
    if not IN_COMPONENT:
        return None
    try:
        return importlib.import_module(f"wit_world.{name}")
    except ImportError:
        return None


class HostError(Exception):
    """What the stand-in raises where the host answers with an error; `value` is the sentence."""

    def __init__(self, value: str) -> None:
        super().__init__(value)
        self.value = value


@dataclass
class Native:
    """Where items, lines, rulings and checks go natively: to whoever is testing."""

    emit: Optional[Callable[[list[Any]], None]] = None
    write: Optional[Callable[[str, str], None]] = None
    rule: Optional[Callable[[list[Any]], None]] = None
    report: Optional[Callable[[list[Any]], None]] = None


native = Native()

# The type that the host's errors have, and in which a module's own sentence is raised.
Err: Any = importlib.import_module("componentize_py_types").Err if IN_COMPONENT else HostError
