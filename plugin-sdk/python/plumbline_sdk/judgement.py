"""The finished tree that a judge reads, and its rulings and checks."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Any, Iterator, Optional, Union

from . import host
from .input import ReadError
from .item import Item, Status, clean, from_wire

# Items requested at a time. The host returns fewer if they are large.
BATCH = 256
# Most bytes of a text, except class and ID. The host ends the call at more, so a longer one is cut.
MAX_TEXT = 4 << 10
# Most characters of a check's ID.
MAX_ID = 64

_CLASS = re.compile("[a-z0-9-]{1,64}")


@dataclass(frozen=True)
class Ruling:
    """What a judge decides about one leaf."""

    class_: str
    """A word such as `known-failure` or `flaky`: 1 to 64 of the characters a-z, 0-9 and `-`."""
    counts: bool
    """Whether the leaf counts as a failure. Without a ruling, leaves that failed or timed out
    count, and no others."""
    reason: str = ""
    """The reason, as a sentence for people."""
    source: str = ""
    """The source of the ruling: the entry of a list, an archive, the URL of an issue."""


@dataclass(frozen=True)
class JudgedItem:
    """An item of the tree, with the ruling of an earlier judge."""

    index: int
    """Its number in the tree, which a ruling refers to."""
    set: str
    """The name of the node, or `global`. Empty if a summarizer added the item."""
    item: Item
    """The item as it is in the tree. It always has a status."""
    leaf: bool
    """Whether it has no children. A ruling needs a leaf."""
    ruling: Optional[Ruling] = None
    """The ruling of an earlier judge in the chain."""

    @property
    def is_failure(self) -> bool:
        """Whether it is a leaf that failed or timed out. Such leaves count unless a ruling excuses
        them."""
        return self.leaf and self.item.status in (Status.FAILED, Status.TIMEOUT)


class Outcome(str, enum.Enum):
    """The outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It could not be evaluated for the given reason. A plugin with such a check does not pass."""


@dataclass(frozen=True)
class Check:
    """A requirement on the results as a whole."""

    id: str
    """Identifies it, such as `PODS-001`: 1 to 64 characters, unique within one call."""
    name: str
    """What is required, in a few words."""
    outcome: Union[Outcome, str]
    want: str = ""
    """What was wanted, such as `>= 98 %`."""
    got: str = ""
    """What was found, such as `96.4 % (27 of 28)`."""
    reason: str = ""
    """An explanation for people."""


@dataclass
class WireRuling:
    """A ruling of the contract, natively."""

    class_: str
    counts: bool
    reason: str
    source: str


@dataclass
class WireCheck:
    """A check of the contract, natively."""

    id: str
    name: str
    outcome: Any
    want: str
    got: str
    reason: str


_judgement: Any = host.binding("imports.judgement")
_Ruling: Any = WireRuling if _judgement is None else _judgement.Ruling
_Check: Any = WireCheck if _judgement is None else _judgement.Check


def judged_items(tree: Any) -> Iterator[JudgedItem]:
    """Iterates over the items. Raises `ReadError` if the rest cannot be read."""
    while True:
        try:
            batch = tree.next(BATCH)
        except host.Err as error:
            raise ReadError(str(getattr(error, "value", error))) from None
        if not batch:
            return
        for given in batch:
            ruling = given.ruling and Ruling(given.ruling.class_, given.ruling.counts, given.ruling.reason, given.ruling.source)
            yield JudgedItem(given.index, given.set, from_wire(given.item), given.leaf, ruling)


class Rulings:
    """Receives rulings and checks, and sends them to the host in batches."""

    def __init__(self) -> None:
        self._rulings: list[Any] = []
        self._checks: list[Any] = []

    def rule(self, item: Union[JudgedItem, int], ruling: Ruling) -> None:
        """Rules on an item, or on the one with that number, also after the end of the tree. It
        replaces an earlier ruling, also one of an earlier judge. The item must be a leaf that was
        read. Any other ruling ends the call."""
        if not isinstance(ruling, Ruling):
            raise TypeError(f"a ruling is a `Ruling`, not {type(ruling).__name__}")
        if not isinstance(ruling.class_, str) or not _CLASS.fullmatch(ruling.class_):
            raise ValueError(f"a class has 1 to 64 of the characters a-z, 0-9 and `-`, unlike {ruling.class_!r}")
        if not isinstance(ruling.counts, bool):
            # A missing value, such as `None`, must not excuse a failure.
            raise TypeError(f"ruling `{ruling.class_}`: `counts` is neither True nor False")
        index = item.index if isinstance(item, JudgedItem) else item
        wire = _Ruling(ruling.class_, ruling.counts, _short(ruling.reason), _short(ruling.source))
        self._rulings.append((index, wire))
        if len(self._rulings) >= BATCH:
            self.flush()

    def report(self, check: Check) -> None:
        """Reports a check. Checks are shown in this order."""
        if not isinstance(check, Check):
            raise TypeError(f"a check is a `Check`, not {type(check).__name__}")
        if not isinstance(check.id, str) or not 1 <= len(check.id) <= MAX_ID:
            raise ValueError(f"the id of a check has 1 to {MAX_ID} characters, unlike {check.id!r}")
        outcome = Outcome(check.outcome)
        wire = _judgement.Outcome[outcome.name] if _judgement is not None else outcome
        texts = [_short(text) for text in (check.want, check.got, check.reason)]
        self._checks.append(_Check(clean(check.id), _short(check.name), wire, *texts))
        if len(self._checks) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Sends what is pending. The SDK does this when a batch is full and at the end of the
        call."""
        rulings, self._rulings = self._rulings, []
        checks, self._checks = self._checks, []
        if rulings:
            _to_host("rule", rulings)
        if checks:
            _to_host("report", checks)


def _to_host(function: str, batch: list[Any]) -> None:
    to = getattr(_judgement if _judgement is not None else host.native, function)
    if to is None:
        raise RuntimeError("no host found: call the module through plumbline_sdk.testing.Case")
    to(batch)


def _short(value: Any) -> str:
    """Cuts the text at a character, below the limit of the host."""
    text = clean(value if isinstance(value, str) else str(value))
    data = text.encode()
    if len(data) <= MAX_TEXT:
        return text
    return data[: MAX_TEXT - 3].decode(errors="ignore") + "…"
