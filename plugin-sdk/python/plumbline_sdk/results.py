"""What a summarizer reads: the items of all result sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator

from . import host
from .input import ReadError
from .item import Item, from_wire

# Entries that are asked for at a time; the host gives fewer where they are large.
BATCH = 256


@dataclass(frozen=True)
class Entry:
    """An item, and whose it is."""

    set: str
    """The node's name, or `global`."""
    item: Item


def entries(items: Any) -> Iterator[Entry]:
    """The entries, one after the other. Raises `ReadError` when there cannot be more."""
    while True:
        try:
            batch = items.next(BATCH)
        except host.Err as error:
            raise ReadError(str(getattr(error, "value", error))) from None
        if not batch:
            return
        for entry in batch:
            yield Entry(entry.set, from_wire(entry.item))
