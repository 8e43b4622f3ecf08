"""The SDK for Plumbline modules in Python. A module has one function per role.

See README.md next to this package for an introduction. `plumbline_sdk.testing` runs a module
natively.
"""

from . import log
from .context import Context, ObjectQuery, Progress
from .failure import ModuleError
from .files import Attributes, DirEntry, FileError, FileInfo, FileType, NotFound, NotGranted, NotPermitted
from .input import InputFile, ReadError, check_nesting
from .item import Item, Json, Status
from .judgement import Check, JudgedItem, Outcome, Ruling, Rulings
from .network import Connection, NetworkError, NetworkErrorKind, Response, Target, Trust, TrustCertificates
from .node import GLOBAL, Global, Node, Taint
from .output import Output
from .plugin import Plugin
from .results import Entry
from .roles import check, expectations, judge, post_processor, summarizer

__all__ = [
    "GLOBAL",
    "Attributes",
    "Check",
    "Connection",
    "Context",
    "DirEntry",
    "Entry",
    "FileError",
    "FileInfo",
    "FileType",
    "Global",
    "InputFile",
    "Item",
    "Json",
    "JudgedItem",
    "ModuleError",
    "NetworkError",
    "NetworkErrorKind",
    "Node",
    "NotFound",
    "NotGranted",
    "NotPermitted",
    "ObjectQuery",
    "Outcome",
    "Output",
    "Plugin",
    "Progress",
    "ReadError",
    "Response",
    "Ruling",
    "Rulings",
    "Status",
    "Taint",
    "Target",
    "Trust",
    "TrustCertificates",
    "check",
    "check_nesting",
    "expectations",
    "judge",
    "log",
    "post_processor",
    "summarizer",
]
