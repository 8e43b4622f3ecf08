"""The finished tree, as a judge reads it, and what it says of it."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Any, Iterator, Optional, Union

from . import host
from .input import ReadError
from .item import Item, Status, clean, from_wire

# Items that are asked for at a time; the host gives fewer where they are large.
BATCH = 256
# Bytes of a text but the class and the id: the host ends the call at more. A longer one is cut.
MAX_TEXT = 4 << 10
# Characters of a check's id.
MAX_ID = 64

_CLASS = re.compile("[a-z0-9-]{1,64}")


@dataclass(frozen=True)
class Ruling:
    """What is said of one item."""

    class_: str
    """One word, or a few with `-` between them, such as `known-failure`, `flaky`: 1 to 64 of the characters a-z, 0-9 and `-`."""
    counts: bool
    """Whether the item counts as a failure. Without a ruling, items that failed or timed out do, and no others."""
    reason: str = ""
    """Why, as a sentence for a person."""
    source: str = ""
    """Where the judge has it from: the entry of a list, an archive, the address of an issue."""


@dataclass(frozen=True)
class JudgedItem:
    """An item of the tree, and what was said of it so far."""

    index: int
    """Its number in the tree: what a ruling names it by."""
    set: str
    """The node's name, or `global`; empty for what a summarizer added."""
    item: Item
    """As it stands in the tree. It has a status in any case."""
    leaf: bool
    """Whether it has no children: only then it can be ruled on."""
    ruling: Optional[Ruling] = None
    """What an earlier judge of the chain said."""

    @property
    def is_failure(self) -> bool:
        """Whether it is a leaf that failed or timed out: what counts as a failure while nobody says otherwise."""
        return self.leaf and self.item.status in (Status.FAILED, Status.TIMEOUT)


class Outcome(str, enum.Enum):
    """How a check came out."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It could not be evaluated: the reason says why. A plugin with such a check does not pass."""


@dataclass(frozen=True)
class Check:
    """One numbered requirement on the results as a whole."""

    id: str
    """What it is referred to by, such as `PODS-001`: 1 to 64 characters, unique within one call."""
    name: str
    """What is required, in a few words."""
    outcome: Union[Outcome, str]
    want: str = ""
    """What was wanted, such as `>= 98 %`."""
    got: str = ""
    """What was found, such as `96.4 % (27 of 28)`."""
    reason: str = ""
    """What else a person must know."""


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
    """The items, one after the other. Raises `ReadError` when there cannot be more."""
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
    """Takes rulings and checks, and hands them to the host in batches."""

    def __init__(self) -> None:
        self._rulings: list[Any] = []
        self._checks: list[Any] = []

    def rule(self, item: Union[JudgedItem, int], ruling: Ruling) -> None:
        """Says something of an item, or of the one of that number, also when the tree has been read to its end. A later ruling takes the
        place of an earlier one, also of one of an earlier judge. Only leaves that were read can be ruled on: anything else ends the call."""
        if not isinstance(ruling, Ruling):
            raise TypeError(f"a ruling is a `Ruling`, not {type(ruling).__name__}")
        if not isinstance(ruling.class_, str) or not _CLASS.fullmatch(ruling.class_):
            raise ValueError(f"a class has 1 to 64 of the characters a-z, 0-9 and `-`, unlike {ruling.class_!r}")
        index = item.index if isinstance(item, JudgedItem) else item
        wire = _Ruling(ruling.class_, bool(ruling.counts), _short(ruling.reason), _short(ruling.source))
        self._rulings.append((index, wire))
        if len(self._rulings) >= BATCH:
            self.flush()

    def report(self, check: Check) -> None:
        """Reports a check, in the order in which a person is to see them."""
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
        """Hands over what has gathered. Happens by itself when a batch is full and at the end of the call."""
        rulings, self._rulings = self._rulings, []
        checks, self._checks = self._checks, []
        if rulings:
            _to_host("rule", rulings)
        if checks:
            _to_host("report", checks)


def _to_host(function: str, batch: list[Any]) -> None:
    to = getattr(_judgement if _judgement is not None else host.native, function)
    if to is None:
        raise RuntimeError("there is no host here: call the module through plumbline_sdk.testing.Case")
    to(batch)


def _short(value: Any) -> str:
    """The text, cut at a character where the host would end the call."""
    text = clean(value if isinstance(value, str) else str(value))
    data = text.encode()
    if len(data) <= MAX_TEXT:
        return text
    return data[: MAX_TEXT - 3].decode(errors="ignore") + "…"
