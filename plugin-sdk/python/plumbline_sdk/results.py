"""The items of all result sets, which a summarizer reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator

from . import host
from .input import ReadError
from .item import Item, from_wire

# Entries requested at a time. The host returns fewer if they are large.
BATCH = 256


@dataclass(frozen=True)
class Entry:
    """An item with its result set."""

    set: str
    """The name of the node, or `global`."""
    item: Item


def entries(items: Any) -> Iterator[Entry]:
    """Iterates over the entries. Raises `ReadError` if the rest cannot be read."""
    while True:
        try:
            batch = items.next(BATCH)
        except host.Err as error:
            raise ReadError(str(getattr(error, "value", error))) from None
        if not batch:
            return
        for entry in batch:
            yield Entry(entry.set, from_wire(entry.item))
