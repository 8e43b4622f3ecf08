"""Sends the tree in batches, so that neither side holds a whole result."""

from __future__ import annotations

from typing import Any

from . import host
from .item import Item, to_wire

# Most items in a batch.
BATCH_ITEMS = 256
# Characters of texts after which a batch is sent: far below the limit of a call, even at four bytes
# each.
BATCH_CHARACTERS = 1 << 20

_output: Any = host.binding("imports.output")


class Output:
    """Receives items in pre-order and sends them to the host."""

    def __init__(self) -> None:
        self._batch: list[Any] = []
        self._characters = 0

    def emit(self, item: Item) -> None:
        """Appends an item to the tree. If it breaks a rule of the host, the call ends, and the host
        keeps the items before it."""
        wire, size = to_wire(item)
        self._batch.append(wire)
        self._characters += size
        if len(self._batch) >= BATCH_ITEMS or self._characters >= BATCH_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Sends what is pending. The SDK does this when a batch is full and at the end of the
        call."""
        if not self._batch:
            return
        batch, self._batch, self._characters = self._batch, [], 0
        if _output is not None:
            _output.emit(batch)
        elif host.native.emit is not None:
            host.native.emit(batch)
        else:
            raise RuntimeError("no host found: call the module through plumbline_sdk.testing.Case")
