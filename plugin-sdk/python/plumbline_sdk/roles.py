"""The roles: decorators that make a function what a component exports.

componentize-py looks into the module that it wraps for a class named after each exported interface. So a decorator puts such a class beside
the function that it decorates, and leaves the function as it is: tests can call it.
"""

from __future__ import annotations

import codecs
import json
from typing import Any, Callable, Iterable, Optional, TypeVar, Union

from . import host
from .failure import sentence
from .input import InputFile
from .judgement import JudgedItem, Rulings, judged_items
from .node import Global, Node, result_to_wire
from .output import Output
from .plugin import Plugin
from .results import Entry, entries

Process = Callable[[Plugin, "list[InputFile]", Output], None]
Expect = Callable[[Plugin, "Optional[dict[str, Any]]", "list[Node]"], "Iterable[Union[Global, Node, str]]"]
Summarize = Callable[[Plugin, "Iterable[Entry]", Output], None]
Judgement = Callable[[Plugin, "Iterable[JudgedItem]", "list[InputFile]", Rulings], None]

_P = TypeVar("_P", bound=Process)
_E = TypeVar("_E", bound=Expect)
_S = TypeVar("_S", bound=Summarize)
_J = TypeVar("_J", bound=Judgement)
_Out = TypeVar("_Out", Output, Rulings)
_F = TypeVar("_F")

# A codec is a Python module that is imported when it is first named, and a component has nowhere to import from.
for _codec in ("ascii", "latin-1", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"):
    codecs.lookup(_codec)


def post_processor(process: _P) -> _P:
    """Makes `process(plugin, files, out)` the post-processor of the module: the files of one result set become items."""

    class PostProcessor:
        def process(self, plugin: Any, files: list[Any]) -> None:
            _flushing(Output(), lambda out: process(Plugin.from_host(plugin), [InputFile(file) for file in files], out))

    return _export(process, PostProcessor)


def summarizer(summarize: _S) -> _S:
    """Makes `summarize(plugin, entries, out)` the summarizer of the module: the items of all result sets become further items."""

    class Summarizer:
        def summarize(self, plugin: Any, items: Any) -> None:
            _flushing(Output(), lambda out: summarize(Plugin.from_host(plugin), entries(items), out))

    return _export(summarize, Summarizer)


def judge(judgement: _J) -> _J:
    """Makes `judgement(plugin, tree, evidence, out)` the judge of the module: it says what of the finished tree counts."""

    class Judge:
        def judge(self, plugin: Any, tree: Any, evidence: list[Any]) -> None:
            files = [InputFile(file) for file in evidence]
            _flushing(Rulings(), lambda out: judgement(Plugin.from_host(plugin), judged_items(tree), files, out))

    return _export(judgement, Judge)


def expectations(expect: _E) -> _E:
    """Makes `expect(plugin, pod_spec, nodes)` the expectation of the module: it returns (or yields) the results that must arrive."""

    class Expectations:
        def expected_results(self, plugin: Any, pod_spec: Optional[str], nodes: list[Any]) -> list[Any]:
            try:
                spec = None if pod_spec is None else json.loads(pod_spec)
                named = expect(Plugin.from_host(plugin), spec, [Node.from_host(node) for node in nodes])
                return [result_to_wire(result) for result in named]
            except Exception as raised:
                raise host.Err(sentence(raised)) from None

    return _export(expect, Expectations)


def _export(function: _F, role: type) -> _F:
    """Puts `role` where componentize-py looks for it, and where `plumbline_sdk.testing` finds it whatever else bears its name."""
    function.__globals__[role.__name__] = role  # type: ignore[attr-defined]
    function.plumbline_role = role  # type: ignore[attr-defined]
    return function


def _flushing(out: _Out, work: Callable[[_Out], None]) -> None:
    failure = None
    try:
        work(out)
    except (Exception, SystemExit) as raised:
        # Ending the interpreter would end the call, and what was emitted last with it.
        failure = sentence(raised)
    # What was said before stays, whatever happened after it.
    out.flush()
    if failure is not None:
        raise host.Err(failure)
