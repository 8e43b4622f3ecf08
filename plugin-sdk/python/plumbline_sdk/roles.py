"""The roles: decorators that export a function from the component.

componentize-py looks for a class named after each exported interface in the module that it wraps.
So a decorator adds such a class next to the decorated function. It does not change the function, so
that tests can call it.
"""

from __future__ import annotations

import codecs
import json
from typing import Any, Callable, Iterable, Optional, TypeVar, Union

from . import host
from .context import Context
from .failure import ModuleError, sentence
from .input import InputFile
from .judgement import JudgedItem, Rulings, judged_items
from .node import Global, Node, result_to_wire
from .output import Output
from .plugin import Plugin
from .results import Entry, entries
from .sandbox import Sandbox, redirect_sleep

Process = Callable[[Plugin, "list[InputFile]", Output], None]
Expect = Callable[[Plugin, "Optional[dict[str, Any]]", "list[Node]"], "Iterable[Union[Global, Node, str]]"]
Summarize = Callable[[Plugin, "Iterable[Entry]", Output], None]
Judgement = Callable[[Plugin, "Iterable[JudgedItem]", "list[InputFile]", Rulings], None]
Checking = Callable[[Plugin, Context, Output], None]

_P = TypeVar("_P", bound=Process)
_E = TypeVar("_E", bound=Expect)
_S = TypeVar("_S", bound=Summarize)
_J = TypeVar("_J", bound=Judgement)
_C = TypeVar("_C", bound=Checking)
_Out = TypeVar("_Out", Output, Rulings)
_F = TypeVar("_F")

# A codec is a Python module that is imported at its first use, and a component cannot import later.
for _codec in ("ascii", "latin-1", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"):
    codecs.lookup(_codec)


def post_processor(process: _P) -> _P:
    """Makes `process(plugin, files, out)` the post-processor of the module, which turns the files
    of a result set into items."""

    class PostProcessor:
        def process(self, plugin: Any, files: list[Any]) -> None:
            _flushing(Output(), lambda out: process(Plugin.from_host(plugin), [InputFile(file) for file in files], out))

    return _export(process, PostProcessor)


def summarizer(summarize: _S) -> _S:
    """Makes `summarize(plugin, entries, out)` the summarizer of the module, which adds items about
    the items of all result sets."""

    class Summarizer:
        def summarize(self, plugin: Any, items: Any) -> None:
            _flushing(Output(), lambda out: summarize(Plugin.from_host(plugin), entries(items), out))

    return _export(summarize, Summarizer)


def judge(judgement: _J) -> _J:
    """Makes `judgement(plugin, tree, evidence, out)` the judge of the module, which decides what
    counts in the finished tree."""

    class Judge:
        def judge(self, plugin: Any, tree: Any, evidence: list[Any]) -> None:
            files = [InputFile(file) for file in evidence]
            _flushing(Rulings(), lambda out: judgement(Plugin.from_host(plugin), judged_items(tree), files, out))

    return _export(judgement, Judge)


def check(checking: _C) -> _C:
    """Makes `checking(plugin, context, out)` the check of the module, which reads a node or a
    cluster itself."""
    redirect_sleep()

    class Check:
        def run(self, plugin: Any) -> None:
            context = Context(Sandbox() if host.IN_COMPONENT else host.native.check)
            _flushing(Output(), lambda out: checking(Plugin.from_host(plugin), context, out))

    return _export(checking, Check)


def expectations(expect: _E) -> _E:
    """Makes `expect(plugin, pod_spec, nodes)` the expectations of the module. It returns or yields
    the results that must arrive."""

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
    """Stores `role` where componentize-py looks for it, and where `plumbline_sdk.testing` finds it
    regardless of its name."""
    function.__globals__[role.__name__] = role  # type: ignore[attr-defined]
    function.plumbline_role = role  # type: ignore[attr-defined]
    return function


def _flushing(out: _Out, work: Callable[[_Out], object]) -> None:
    failure = None
    try:
        _refuse_unrun(work(out))
    except (Exception, SystemExit) as raised:
        # Ending the interpreter would end the call and lose the items emitted last.
        failure = sentence(raised)
    # What the module sent before a failure stays.
    out.flush()
    if failure is not None:
        raise host.Err(failure)


def _refuse_unrun(returned: object) -> None:
    """Rejects what an `async` function or one with `yield` returns: none of its code has run."""
    if any(hasattr(returned, method) for method in ("__await__", "__anext__", "__next__")):
        close = getattr(returned, "close", None)
        # Python warns about a coroutine that is never awaited.
        if callable(close):
            close()
        raise ModuleError("the module's function is `async` or has a `yield`, and nothing would run it: make it a plain function")
