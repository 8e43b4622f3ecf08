"""Converts items between the SDK and the contract."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Union

from . import host


# Most characters of a name: below the 64 KiB of the host, whatever their size in bytes. A longer
# one is cut, and the details have all of it.
MAX_NAME = 16_000
# Most characters of all other texts of an item: below the 16 MiB of the host. Longer texts are cut
# and marked.
MAX_TEXTS = 3 << 20
# Most characters of a key, which can come from a file too.
MAX_KEY = 1_000


class Status(str, enum.Enum):
    """The outcome of an item. Any other text of at most 256 bytes is a status of the format's own,
    such as `warning`."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Json:
    """Makes a detail a structure although it is a `str`. Any other type is a structure anyway."""

    value: Any


@dataclass
class Item:
    """One entry of the result tree."""

    name: str
    """The name that people see: not empty, at most 64 KiB."""
    depth: int = 0
    """0 for a root of the result set. At most one more than the depth of the item before."""
    status: Union[Status, str, None] = None
    """With `None`, the host rolls it up from the children, or sets `unknown` if there are none."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Short facts: `file`, `type`, `error`, or keys of the format's own. `None` is left out.
    Anything else becomes a `str`."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What a person reads when something went wrong: `failure`, `error`, `system-out`, or keys of
    the format's own. A `str` is shown unchanged. Anything else is a structure that `json` can
    encode. `None` is left out."""


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


# In the world of checks, another interface has the name as well.
_types: Any = host.binding("imports.types") or host.binding("imports.plumbline_plugin_types")

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
    """Replaces half surrogate pairs, which UTF-8 cannot encode, by U+FFFD."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def to_wire(item: Item) -> tuple[Any, int]:
    """Converts the item for the contract, and returns the approximate size of its texts in
    bytes."""
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
        # Escapes would keep half surrogate pairs, which JSON does not allow either. So write
        # characters, and clean them.
        document = clean(json.dumps(value.value if isinstance(value, Json) else value, ensure_ascii=False, allow_nan=False))
        if len(document) > left:
            # Half a document is not valid.
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
    """Returns as much of `text` as there is room for, and the remaining room."""
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
    """Converts an item of the contract for the module. `json` decodes structures."""
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
