"""Items: as an author writes them, and as the contract has them."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Union

from . import host


# Characters of a name: below the 64 KiB of the host, however many bytes each has. A longer one is cut, and stands whole in the details.
MAX_NAME = 16_000
# Characters of all other texts of an item together: below the 16 MiB of the host. What goes over is cut, and says so.
MAX_TEXTS = 3 << 20
# Characters of a key, which may come from a file too.
MAX_KEY = 1_000


class Status(str, enum.Enum):
    """How an item ended. Any other text of at most 256 bytes is a status of the format's own, such as `warning`."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Json:
    """A detail that is a structure although it is a `str`: any other value that is not one is a structure anyway."""

    value: Any


@dataclass
class Item:
    """One entry of the result tree."""

    name: str
    """What a person sees; not empty, at most 64 KiB."""
    depth: int = 0
    """0 for a root of the result set; at most one more than the depth of the item before."""
    status: Union[Status, str, None] = None
    """`None`: the host works it out from the items below, or takes `unknown` where there are none."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Short facts: `file`, `type`, `error`, or keys of the format's own. `None` is left out, all else is made a `str`."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What a person reads when something went wrong: `failure`, `error`, `system-out`, or keys of the format's own. A `str` is shown as
    it is; anything else is a structure that `json` can write; `None` is left out."""


@dataclass
class WireItem:
    """An item of the contract, natively."""

    depth: int
    name: str
    status: Any
    meta: list[tuple[str, str]]
    details: list[tuple[str, Any]]


@dataclass
class WireStatus:
    """A status of the contract, natively."""

    word: str


@dataclass
class WireDetail:
    """A detail of the contract, natively: text, or a JSON document."""

    value: str
    json: bool = False


_types: Any = host.binding("imports.types")

if _types is not None:
    _Item = _types.Item
    _KNOWN: dict[str, Any] = {
        "passed": _types.Status_Passed(),
        "failed": _types.Status_Failed(),
        "skipped": _types.Status_Skipped(),
        "timeout": _types.Status_Timeout(),
        "unknown": _types.Status_Unknown(),
    }
    _custom = _types.Status_Custom
    _text = _types.Detail_Text
    _json = _types.Detail_Json
else:
    _Item = WireItem
    _KNOWN = {word.value: WireStatus(word.value) for word in Status}
    _custom = WireStatus

    def _text(value: str) -> Any:
        return WireDetail(value)

    def _json(value: str) -> Any:
        return WireDetail(value, json=True)


def clean(text: str) -> str:
    """`text` with U+FFFD for half surrogate pairs, which have no form in UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def to_wire(item: Item) -> tuple[Any, int]:
    """The item as the contract has it, and about how many bytes its texts have."""
    if not isinstance(item, Item):
        raise TypeError(f"an item is an `Item`, not {type(item).__name__}")
    if not isinstance(item.name, str):
        raise TypeError(f"the name of an item is a str, not {type(item.name).__name__}")
    name = clean(item.name)
    left = MAX_TEXTS
    meta = []
    for key, value in item.meta.items():
        if value is not None:
            text, left = _bounded(clean(value if isinstance(value, str) else str(value)), left)
            meta.append((clean(key)[:MAX_KEY], text))
    details = []
    for key, value in item.details.items():
        if value is None:
            continue
        if isinstance(value, str):
            text, left = _bounded(clean(value), left)
            details.append((clean(key)[:MAX_KEY], _text(text)))
            continue
        # Escapes keep half surrogate pairs, which are no characters in JSON either: so write characters, and clean those.
        document = clean(json.dumps(value.value if isinstance(value, Json) else value, ensure_ascii=False, allow_nan=False))
        if len(document) > left:
            # Half a document is none.
            details.append((clean(key)[:MAX_KEY], _text(f"(left out: a structure of {len(document)} characters)")))
            continue
        left -= len(document)
        details.append((clean(key)[:MAX_KEY], _json(document)))
    if len(name) > MAX_NAME:
        text, left = _bounded(name, left)
        details.append(("name", _text(text)))
        name = f"{name[:MAX_NAME]}…"
    return _Item(item.depth, name, _status(item.status), meta, details), len(name) + MAX_TEXTS - left


def _bounded(text: str, left: int) -> tuple[str, int]:
    """As much of `text` as there is room for, and the room that is left."""
    if len(text) <= left:
        return text, left - len(text)
    return f"{text[:left]}… ({len(text) - left} more characters)", 0


def _status(status: Union[Status, str, None]) -> Any:
    if status is None:
        return None
    word = status.value if isinstance(status, Status) else status
    known = _KNOWN.get(word)
    return known if known is not None else _custom(clean(word))


def from_wire(wire: Any) -> Item:
    """An item of the contract as an author reads it; a structure comes back as what `json` makes of it."""
    return Item(wire.name, wire.depth, _word(wire.status), dict(wire.meta), {key: _detail(value) for key, value in wire.details})


def _word(status: Any) -> Optional[Union[Status, str]]:
    if status is None:
        return None
    if isinstance(status, WireStatus):
        word = status.word
    else:
        word = getattr(status, "value", None) or type(status).__name__.removeprefix("Status_").lower()
    try:
        return Status(word)
    except ValueError:
        return word


def _detail(detail: Any) -> Any:
    is_json = detail.json if isinstance(detail, WireDetail) else type(detail).__name__ == "Detail_Json"
    if not is_json:
        return detail.value
    value = json.loads(detail.value)
    return Json(value) if isinstance(value, str) else value
