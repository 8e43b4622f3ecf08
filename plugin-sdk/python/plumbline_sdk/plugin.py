"""The plugin that the module works for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Plugin:
    """The plugin whose results the module reads."""

    name: str
    """A DNS-1123 subdomain."""
    driver: str = "Job"
    """`Job`, `DaemonSet` or `Process`. More can be added later: treat an unknown driver like
    `Job`."""
    format: str = ""
    """The `result-format` of the definition, as written. Empty if there is none."""
    expected_results: int = 1
    """How many results the run expects of this plugin."""
    options: dict[str, Any] = field(default_factory=dict)
    """The options of the definition. Check them, because they are not trusted."""

    @classmethod
    def from_host(cls, info: Any) -> Plugin:
        """Converts the plugin of the host."""
        options = json.loads(info.options or "{}")
        return cls(info.name, info.driver, info.format, info.expected_results, options)
