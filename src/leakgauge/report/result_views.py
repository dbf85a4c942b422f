"""Results in Python: as a table, as HTML in a notebook, and as the report of a run without a folder."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.report.run_report import write_run_report
from leakgauge.summary import RunSummary, summarise_run
from leakgauge.support.files import path_argument
from leakgauge.verdict import Verdict

COLUMNS = ("audit", "attacker", "metric", "value", "low", "high", "bound", "finding", "risk")
_SHOWN = ("accuracy_own", "accuracy", "auc", "tpr_at_fpr_0.01", "epsilon")


def result_frame(verdicts: Sequence[Verdict]) -> Any:
    """One row for each metric of each attacker: a frame of pandas or polars, or else a dict of columns."""
    rows = [
        (
            found.audit,
            found.label,
            name,
            estimate.value,
            estimate.low,
            estimate.high,
            found.bounds.get(name),
            None if found.finding is None else found.finding.value,
            None if found.risk is None else found.risk.status.value,
        )
        for found in verdicts
        for name, estimate in found.metrics.items()
    ]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}
    for library in ("pandas", "polars"):
        if find_spec(library) is not None:
            return import_module(library).DataFrame(columns)
    return columns


def result_html(verdicts: Sequence[Verdict], summary: RunSummary | None = None) -> str:
    """A short table for notebooks: the attackers with their main numbers, and the two answers."""
    summary = summary or summarise_run(verdicts)
    head = "".join(f"<th>{escape(name)}</th>" for name in ("attacker", *_SHOWN))
    body = "".join(
        f"<tr><td>{escape(found.label)}</td>" + "".join(_cell(found, name) for name in _SHOWN) + "</tr>"
        for found in verdicts
    )
    answers = f"Promise: {summary.promise.status}. Risk: {summary.risk.status.value}."
    return f"<p>{escape(answers)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(found: Verdict, name: str) -> str:
    estimate = found.metrics.get(name)
    if estimate is None or (estimate.value is None and estimate.low is None):
        return "<td>-</td>"
    if estimate.value is None:
        return f"<td>&ge; {estimate.low:.3f}</td>"
    interval = (
        ""
        if estimate.low is None or estimate.high is None
        else (f" ({estimate.low:.3f} to {estimate.high:.3f})")
    )
    return f"<td>{estimate.value:.3f}{interval}</td>"


def save_result(
    verdicts: Sequence[Verdict],
    path: str | Path,
    summary: RunSummary | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write the report of a run as one HTML file."""
    file = path_argument(path, "path")
    if file.suffix != ".html":
        raise BadInput(f"path: a report is an HTML file, got {file.name!r}; name it report.html")
    audits = list(dict.fromkeys(found.audit for found in verdicts))
    manifest = {
        "summary": summary or summarise_run(verdicts),
        "notes": dict.fromkeys(notes, audits),
        "seed": verdicts[0].seed,
        "without_plan": True,
        "date": datetime.now(UTC).date().isoformat(),
    }
    return write_run_report(verdicts, manifest, file)
