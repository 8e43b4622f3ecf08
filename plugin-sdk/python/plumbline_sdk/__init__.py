"""The SDK for Plumbline modules in Python. A module has one function per role.

See README.md next to this package for an introduction. `plumbline_sdk.testing` runs a module
natively.
"""

from . import log
from .failure import ModuleError
from .input import InputFile, ReadError, check_nesting
from .item import Item, Json, Status
from .judgement import Check, JudgedItem, Outcome, Ruling, Rulings
from .node import GLOBAL, Global, Node, Taint
from .output import Output
from .plugin import Plugin
from .results import Entry
from .roles import expectations, judge, post_processor, summarizer

__all__ = [
    "GLOBAL",
    "Check",
    "Entry",
    "Global",
    "InputFile",
    "Item",
    "Json",
    "JudgedItem",
    "ModuleError",
    "Node",
    "Outcome",
    "Output",
    "Plugin",
    "ReadError",
    "Ruling",
    "Rulings",
    "Status",
    "Taint",
    "check_nesting",
    "expectations",
    "judge",
    "log",
    "post_processor",
    "summarizer",
]
