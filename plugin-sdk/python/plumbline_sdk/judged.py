"""A native host for judges, and the outcome of a native run. `plumbline_sdk.testing.Case.judge`
uses it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Iterator, Optional

from . import host
from .item import from_wire
from .judgement import Check, JudgedItem, Outcome, Ruling, WireRuling

# Most checks that the host accepts in one call.
_MAX_CHECKS = 10_000


@dataclass
class Judged:
    """The outcome of a judge for a case."""

    tree: list[JudgedItem] = field(default_factory=list)
    """The tree that it read."""
    rulings: list[tuple[int, Ruling]] = field(default_factory=list)
    """The rulings in order, with the numbers of their items."""
    checks: list[Check] = field(default_factory=list)
    """The checks in order."""
    error: Optional[str] = None
    """The error message of the module, if it failed."""
    log: list[tuple[str, str]] = field(default_factory=list)
    """The lines of the log: level and message."""

    def ruling(self, name: str) -> Optional[Ruling]:
        """Returns this judge's last ruling on the first leaf with that name. Raises `KeyError` if
        there is no such leaf."""
        for judged in self.tree:
            if judged.leaf and judged.item.name == name:
                return dict(self.rulings).get(judged.index)
        raise KeyError(name)

    def check(self, id: str) -> Check:
        """Returns the check with that ID. Raises `KeyError` if there is none."""
        for check in self.checks:
            if check.id == id:
                return check
        raise KeyError(id)

    def outline(self) -> str:
        """Returns a line `set/name: class, counts: reason` (or `excused`) for each item with a
        ruling, then a line `id: outcome` for each check."""
        last = dict(self.rulings)
        ruled = ((judged, last[judged.index]) for judged in self.tree if judged.index in last)
        lines = [
            f"{judged.set}/{judged.item.name}: {ruling.class_}, {'counts' if ruling.counts else 'excused'}: {ruling.reason}"
            for judged, ruling in ruled
        ]
        lines += [f"{check.id}: {Outcome(check.outcome).value}" for check in self.checks]
        return "".join(f"{line}\n" for line in lines)


class Tree:
    """The tree of the host: result set by result set, then the items of a summarizer."""

    def __init__(self, entries: list[Any], ruled: dict[str, Ruling], error: Optional[str]) -> None:
        entries = sorted(entries, key=lambda entry: (entry.set == "", entry.set))
        self._wire: list[Any] = []
        for index, entry in enumerate(entries):
            below = entries[index + 1] if index + 1 < len(entries) else None
            leaf = below is None or below.set != entry.set or below.item.depth <= entry.item.depth
            self._wire.append(SimpleNamespace(index=index, set=entry.set, item=entry.item, leaf=leaf, ruling=None))
        for name, ruling in ruled.items():
            given = next((given for given in self._wire if given.leaf and given.item.name == name), None)
            if given is None:
                raise KeyError(f"no leaf of the results is called `{name}`")
            given.ruling = WireRuling(ruling.class_, ruling.counts, ruling.reason, ruling.source)
        self._ruled = ruled
        self._error = error
        self._at = 0

    def next(self, max: int) -> list[Any]:
        batch = self._wire[self._at : self._at + max]
        self._at += len(batch)
        if not batch and self._error is not None:
            raise host.HostError(self._error)
        return batch

    def items(self) -> Iterator[JudgedItem]:
        for given in self._wire:
            ruling = self._ruled.get(given.item.name) if given.ruling else None
            yield JudgedItem(given.index, given.set, from_wire(given.item), given.leaf, ruling)

    def take(self, batch: list[Any], judged: Judged) -> str:
        """Stores rulings as the host would. Returns what is wrong with one, or an empty string."""
        for index, ruling in batch:
            if not 0 <= index < self._at:
                return f"item {index} has a ruling, but only {self._at} items were given"
            if not self._wire[index].leaf:
                return f"item {index} (`{self._wire[index].item.name}`) has a ruling, but is not a leaf"
            judged.rulings.append((index, Ruling(ruling.class_, ruling.counts, ruling.reason, ruling.source)))
        return ""


def take_checks(batch: list[Any], judged: Judged) -> str:
    """Stores checks as the host would. Returns what is wrong with one, or an empty string."""
    known = {check.id for check in judged.checks}
    for check in batch:
        if check.id in known:
            return f"check `{check.id}` is reported twice"
        known.add(check.id)
        judged.checks.append(Check(check.id, check.name, check.outcome, check.want, check.got, check.reason))
    return f"there are more than {_MAX_CHECKS} checks" if len(judged.checks) > _MAX_CHECKS else ""
