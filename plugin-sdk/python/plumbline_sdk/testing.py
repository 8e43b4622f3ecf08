"""Runs a module natively in tests, against a host that is as strict as the real one.

    from plumbline_sdk.testing import Case
    run = Case().file("results/global/node.verdicts", "ok disk").run(app.process)
    assert run.outline() == "node.verdicts: -\\n  disk: passed\\n"
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Callable, Iterable, Iterator, Optional, Union

from . import host
from .context import Progress
from .files import Attributes
from .granted import Granted
from .item import Item, Status, from_wire, to_wire
from .judged import Judged, Tree, take_checks
from .judgement import Ruling
from .network import Connection, NetworkError, Response
from .node import Node

_MAX_NAME = 64 << 10
_MAX_CUSTOM_STATUS = 256


@dataclass
class Run:
    """The outcome of a native run."""

    items: list[Item] = field(default_factory=list)
    """The emitted items in order."""
    error: Optional[str] = None
    """The error message of the module, if it failed."""
    log: list[tuple[str, str]] = field(default_factory=list)
    """The lines of the log: level and message."""
    progress: list[Progress] = field(default_factory=list)
    """The reports of a check in order."""

    def outline(self) -> str:
        """Returns a line `name: status` per item, indented by two spaces per level, with `-` if the
        host rolls the status up."""
        return "".join(f"{'  ' * item.depth}{item.name}: {_word(item)}\n" for item in self.items)

    def item(self, name: str) -> Item:
        """Returns the first item with that name. Raises `KeyError` if there is none."""
        for item in self.items:
            if item.name == name:
                return item
        raise KeyError(name)


class Refused(AssertionError):
    """The module broke a rule, and the real host would end the call."""


class Case:
    """The input of a module. A broken rule of the host raises `Refused`. An error of the module
    itself is in `Run.error`."""

    def __init__(self) -> None:
        self._info = {"name": "test", "driver": "Job", "format": "", "expected_results": 1}
        self._options: dict[str, Any] = {}
        self._files: list[tuple[str, Callable[[], Iterable[bytes]], int, Optional[str]]] = []
        self._chunk = 1 << 20
        self._pod_spec: Optional[str] = None
        self._nodes: list[Node] = []
        self._entries: list[Any] = []
        self._results_error: Optional[str] = None
        self._ruled: dict[str, Ruling] = {}
        self._granted = Granted()

    def plugin(self, **info: Any) -> Case:
        """Sets what the module sees of the plugin: `name`, `driver`, `format`,
        `expected_results`."""
        self._info.update(info)
        return self

    def option(self, key: str, value: Any) -> Case:
        """Adds an option of the definition."""
        self._options[key] = value
        return self

    def file(self, path: str, content: Union[str, bytes]) -> Case:
        """Adds a file of the result set."""
        data = _bytes(content)
        return self._add(path, lambda: [data], len(data), None)

    def broken_file(self, path: str, content: Union[str, bytes], error: str) -> Case:
        """Adds a file that fails after `content`."""
        data = _bytes(content)
        return self._add(path, lambda: [data], len(data), error)

    def generated_file(self, path: str, pieces: Callable[[], Iterable[bytes]]) -> Case:
        """Adds a file that is generated while it is read."""
        return self._add(path, pieces, 0, None)

    def chunk(self, size: int) -> Case:
        """Limits each read to so many bytes. With 1, the file is split at every byte."""
        self._chunk = size
        return self

    def pod_spec(self, spec: dict[str, Any]) -> Case:
        """Sets the `podSpec` of the definition."""
        self._pod_spec = json.dumps(spec)
        return self

    def node(self, node: Node) -> Case:
        """Adds a node of the cluster."""
        self._nodes.append(node)
        return self

    def results(self, set: str, items: Iterable[Item]) -> Case:
        """Adds the items of a result set for a summarizer or a judge. Those with the empty name are
        from a summarizer."""
        for item in items:
            whole = item if item.status is not None else Item(item.name, item.depth, Status.UNKNOWN, item.meta, item.details)
            self._entries.append(SimpleNamespace(set=set, item=to_wire(whole)[0]))
        return self

    def broken_results(self, error: str) -> Case:
        """Makes reading the results fail after the added ones."""
        self._results_error = error
        return self

    def ruled(self, name: str, ruling: Ruling) -> Case:
        """Sets the ruling of an earlier judge on the first leaf with that name."""
        self._ruled[name] = ruling
        return self

    def judge(self, judgement: Any) -> Judged:
        """Runs the function with `@judge` on the results. The files are its evidence, in the order
        in which they were added."""
        tree = Tree(self._entries, self._ruled, self._results_error)
        judged = Judged(tree=list(tree.items()))
        refusals: list[str] = []

        def refused(problem: str) -> None:
            if problem:
                refusals.append(problem)
                raise Refused(problem)

        host.native.rule = lambda batch: refused(tree.take(batch, judged))
        host.native.report = lambda batch: refused(take_checks(batch, judged))
        try:
            files = [_File(path, pieces(), size, error, self._chunk) for path, pieces, size, error in self._files]
            run = self._call(lambda: judgement.plumbline_role().judge(self._wire_info(), tree, files))
        finally:
            host.native.rule = host.native.report = None
        # The real host ends the call at once, so a module cannot catch this.
        if refusals:
            raise Refused(refusals[0])
        judged.error, judged.log = run.error, run.log
        return judged

    def node_directory(self, path: str, disk: str) -> Case:
        """Grants a directory of the node to a check. Its files are those below `disk`, such as
        `test/files/etc/kubernetes`."""
        self._granted.directories[path] = disk
        return self

    def node_file(self, path: str, content: Union[str, bytes]) -> Case:
        """Adds a file of the node for a check, without a directory."""
        self._granted.files[path] = _bytes(content)
        return self

    def env(self, name: str, value: str) -> Case:
        """Sets an environment variable that a check sees."""
        self._granted.variables[name] = value
        return self

    def now(self, now: datetime) -> Case:
        """Sets the clock of the node."""
        self._granted.time = now
        return self

    def objects(self, api_version: str, resource: str, objects: Iterable[Any]) -> Case:
        """Grants a resource of the cluster to a check, and adds objects to it. The check gets those
        whose `metadata.namespace` is the namespace of its query. Selectors select everything: add
        only the objects that they would select."""
        self._granted.lists.setdefault((api_version, resource), []).extend(objects)
        return self

    def broken_objects(self, api_version: str, resource: str, error: str) -> Case:
        """Makes reading a resource fail with `error` after its objects."""
        self._granted.errors[api_version, resource] = error
        return self

    def attributes(self, path: str, attributes: Attributes) -> Case:
        """Sets the owner and the mode of a file or directory. Those of all others belong to root,
        with the permissions `0o644` or `0o755`."""
        self._granted.owners[path] = attributes
        return self

    def response(self, method: str, url: str, result: Union[Response, NetworkError]) -> Case:
        """Grants a request to a check, and sets its result. Every other request is denied."""
        self._granted.responses[method, url] = result
        return self

    def name(self, name: str, result: Union[list[str], NetworkError]) -> Case:
        """Grants a name to a check, and sets its addresses. Every other name is denied."""
        self._granted.names[name] = result
        return self

    def connection(self, host: str, port: int, result: Union[Connection, NetworkError]) -> Case:
        """Grants a connection attempt to a check, and sets its result. Every other one is
        denied."""
        self._granted.connections[host, port] = result
        return self

    def check(self, checking: Any) -> Run:
        """Runs the function with `@check` on the node and the cluster."""
        host.native.check = granted = self._granted.fresh()
        try:
            run = self._call(lambda: checking.plumbline_role().run(self._wire_info()))
        finally:
            host.native.check = None
        run.progress = granted.progress
        return run

    def run(self, process: Any) -> Run:
        """Runs the function with `@post_processor` on the files."""
        files = [_File(path, pieces(), size, error, self._chunk) for path, pieces, size, error in sorted(self._files, key=lambda file: file[0])]
        return self._call(lambda: process.plumbline_role().process(self._wire_info(), files))

    def summarize(self, summarize: Any) -> Run:
        """Runs the function with `@summarizer` on the results."""
        items = _Items(sorted(self._entries, key=lambda entry: entry.set), self._results_error)
        return self._call(lambda: summarize.plumbline_role().summarize(self._wire_info(), items))

    def expected(self, expect: Any) -> list[str]:
        """Returns the results that the function with `@expectations` lists, each `global` or
        `node/NAME`. Raises what the module raises."""
        named: list[Any] = []

        def call() -> None:
            nodes = [SimpleNamespace(**{**vars(node), "labels": list(node.labels.items())}) for node in self._nodes]
            named.extend(expect.plumbline_role().expected_results(self._wire_info(), self._pod_spec, nodes))

        run = self._call(call)
        if run.error is not None:
            raise RuntimeError(run.error)
        labels = [kind if name is None else f"{kind}/{name}" for kind, name in named]
        known = {"global"} | {f"node/{node.name}" for node in self._nodes}
        for at, label in enumerate(labels):
            if label not in known:
                raise Refused(f"unknown node: {label}")
            if label in labels[:at]:
                raise Refused(f"listed twice: {label}")
        return labels

    def _add(self, path: str, pieces: Callable[[], Iterable[bytes]], size: int, error: Optional[str]) -> Case:
        if any(path == other for other, *_ in self._files):
            raise ValueError(f"two files are called {path}")
        self._files.append((path, pieces, size, error))
        return self

    def _wire_info(self) -> Any:
        return SimpleNamespace(**self._info, options=json.dumps(self._options))

    def _call(self, work: Callable[[], None]) -> Run:
        run = Run()
        refusals: list[str] = []

        def emit(batch: list[Any]) -> None:
            for item in batch:
                problem = _problem(item, run.items[-1].depth if run.items else -1)
                if problem:
                    # The real host ends the call here, so a module cannot catch this.
                    refusals.append(problem)
                    raise Refused(problem)
                run.items.append(from_wire(item))

        host.native.emit = emit
        host.native.write = lambda level, message: run.log.append((level, message))
        try:
            work()
        except host.HostError as error:
            run.error = error.value
        finally:
            host.native.emit = host.native.write = None
        if refusals:
            raise Refused(refusals[0])
        return run


class _File:
    """A file of the host."""

    def __init__(self, path: str, pieces: Iterable[bytes], size: int, error: Optional[str], chunk: int) -> None:
        self._path, self._pieces, self._size, self._error, self._chunk = path, iter(pieces), size, error, chunk
        self._piece = b""

    def path(self) -> str:
        return self._path

    def size(self) -> int:
        return self._size

    def read(self, max: int) -> bytes:
        while not self._piece:
            piece = next(self._pieces, None)
            if piece is None and self._error is not None:
                raise host.HostError(self._error)
            if piece is None:
                return b""
            self._piece = piece
        count = min(self._chunk, max)
        given, self._piece = self._piece[:count], self._piece[count:]
        return given


class _Items:
    """The items of the host."""

    def __init__(self, entries: list[Any], error: Optional[str]) -> None:
        self._entries: Iterator[Any] = iter(entries)
        self._error = error

    def next(self, max: int) -> list[Any]:
        batch = [entry for _, entry in zip(range(max), self._entries)]
        if not batch and self._error is not None:
            raise host.HostError(self._error)
        return batch


def _problem(item: Any, previous: int) -> str:
    if item.depth < 0 or item.depth > previous + 1:
        return f"item `{item.name}` has depth {item.depth}, but at most {previous + 1} can follow here"
    if not item.name:
        return f"an item at depth {item.depth} has an empty name"
    if len(item.name.encode()) > _MAX_NAME:
        return f"the name `{item.name[:60]}…` has more than {_MAX_NAME} bytes"
    word = None if item.status is None else item.status.word
    if word is not None and (not word or len(word.encode()) > _MAX_CUSTOM_STATUS):
        return f"the custom status of item `{item.name}` is empty or longer than {_MAX_CUSTOM_STATUS} bytes"
    return ""


def _word(item: Item) -> str:
    return "-" if item.status is None else str(getattr(item.status, "value", item.status))


def _bytes(content: Union[str, bytes]) -> bytes:
    return content.encode() if isinstance(content, str) else content
