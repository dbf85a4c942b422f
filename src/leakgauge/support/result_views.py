"""How results are shown in Python: results ask for it here, and the package says who does it.

A result (``verdict``, ``summary``) is in a layer below the report, which shows it. So the report is never
named there: ``leakgauge`` itself, above all layers, registers it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from leakgauge.core.errors import BadInput


class ResultViews(Protocol):
    """What shows results; ``shown`` is what a report shows besides the verdicts, whatever is known of it."""

    def result_frame(self, verdicts: Sequence[Any]) -> Any:
        """One row for each metric of each attacker."""
        ...

    def result_html(self, verdicts: Sequence[Any], shown: Mapping[str, Any]) -> str:
        """The decision in small, for notebooks."""
        ...

    def result_chart(self, verdicts: Sequence[Any], shown: Mapping[str, Any]) -> Any:
        """The chart of the decision."""
        ...

    def save_result(self, verdicts: Sequence[Any], path: str | Path, shown: Mapping[str, Any]) -> Path:
        """Write the report of a run as one HTML file."""
        ...

    def check_verdict(self, found: Any, limits: Any) -> Any:
        """Judge the trials of a verdict by limits."""
        ...

    def expose_records(
        self, challenger: Any, domain: str, name: str, out: str | Path | None, workers: int
    ) -> Any:
        """Compute how exposed the records of a challenger in memory are, and write it to a folder."""
        ...

    def exposure_frame(self, exposed: Any) -> Any:
        """One row for each person or record."""
        ...

    def exposure_html(self, exposed: Any) -> str:
        """How many people or records can be recognised, for notebooks."""
        ...

    def exposure_plot(self, exposed: Any) -> Any:
        """The histogram of the strongest attacker."""
        ...

    def save_exposure_report(self, exposed: Any, path: str | Path) -> Path:
        """Write the page of an exposure as one HTML file."""
        ...

    def check_exposure(self, exposed: Any, limits: Any) -> Any:
        """Compare the share of people recognised with its limit."""
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
