"""What a module may know of the plugin that it works for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Plugin:
    """The plugin whose results are read."""

    name: str
    """A DNS-1123 subdomain."""
    driver: str = "Job"
    """`Job`, `DaemonSet` or `Process`. More may come: treat an unknown driver like `Job`."""
    format: str = ""
    """The `result-format` of the definition, as written; empty when it names none."""
    expected_results: int = 1
    """How many results the run expects of this plugin."""
    options: dict[str, Any] = field(default_factory=dict)
    """The free options of the definition. Anybody may have written them: check them."""

    @classmethod
    def from_host(cls, info: Any) -> Plugin:
        """The plugin as the host describes it."""
        options = json.loads(info.options or "{}")
        return cls(info.name, info.driver, info.format, info.expected_results, options)
