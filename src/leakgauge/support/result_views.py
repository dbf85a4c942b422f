"""How results are shown in Python: results ask for it here, and the package says who does it.

A result (``verdict``, ``summary``) is in a layer below the report, which shows it. So the report is never
named there: ``leakgauge`` itself, above all layers, registers it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from leakgauge.core.errors import BadInput


class ResultViews(Protocol):
    """What shows verdicts: a table, HTML for notebooks, and the report as a file."""

    def result_frame(self, verdicts: Sequence[Any]) -> Any:
        """One row for each metric of each attacker."""
        ...

    def result_html(self, verdicts: Sequence[Any], summary: Any = None) -> str:
        """A short table for notebooks."""
        ...

    def save_result(
        self, verdicts: Sequence[Any], path: str | Path, summary: Any = None, notes: Sequence[str] = ()
    ) -> Path:
        """Write the report of a run as one HTML file."""
        ...


_loaders: list[Callable[[], ResultViews]] = []


def register_result_views(load: Callable[[], ResultViews]) -> None:
    """Say what shows results from now on; ``load`` is called at the first use."""
    _loaders[:] = [load]


def result_views() -> ResultViews:
    """Return what shows results."""
    if not _loaders:
        raise BadInput("this result cannot be shown: nothing that shows results is registered")
    return _loaders[0]()
