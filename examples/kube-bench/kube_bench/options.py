"""The options of the definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

from plumbline_sdk import ModuleError, Status

_WARN: dict[str, Union[Status, str]] = {"warning": "warning", "fail": Status.FAILED, "skip": Status.SKIPPED}


@dataclass(frozen=True)
class Options:
    """The options, checked."""

    warn: Union[Status, str]
    """The status of checks that a person must review (`WARN`)."""

    @classmethod
    def read(cls, options: dict[str, Any]) -> Options:
        """Raises `ModuleError`: a misspelt option must not change what passes."""
        for key in options:
            if key != "warn":
                raise ModuleError(f"unknown option `{key}`: the only option of `kube-bench` is `warn`")
        word = options.get("warn", "warning")
        if not isinstance(word, str) or word not in _WARN:
            raise ModuleError(f"the option `warn` must be one of {', '.join(_WARN)}, not `{word}`")
        return cls(_WARN[word])
