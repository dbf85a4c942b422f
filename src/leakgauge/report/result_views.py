"""Results in Python: the decision in a notebook, tables, charts, and the report of a run without a folder."""

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markupsafe import Markup

from leakgauge.core.errors import BadInput
from leakgauge.exposure import AuditExposure, expose_challenger, refuse_run, save_exposure, summarise
from leakgauge.limits import Limits, read_limits
from leakgauge.report import static_svg
from leakgauge.report.decision import decision_of
from leakgauge.report.first_screen import decision_chart
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.metric_text import describe_metric, interval_text, metrics_in, table_metrics, value_text
from leakgauge.report.page import Chart, LegendEntry, Stroke, render_html
from leakgauge.report.run_report import write_run_report
from leakgauge.report.sections.exposure import (
    exposure_answer,
    exposure_question,
    strongest_chart,
    write_exposure_page,
)
from leakgauge.risk import Risk
from leakgauge.summary import RunSummary, recognised_risk, summarise_run
from leakgauge.support.csv_cells import read_csv_lines
from leakgauge.support.exposure_rows import exposure_csv
from leakgauge.support.files import path_argument
from leakgauge.verdict import Verdict

COLUMNS = ("audit", "attacker", "metric", "value", "low", "high", "bound", "finding", "risk")
TONES = {"good": "#1a7f37", "warn": "#9a6700", "bad": "#b3261e", "neutral": "#545d68"}
MOST_ROWS = 12  # attackers in the table of a notebook
_LIBRARIES = ("pandas", "polars")
_LISTED = ("epsilon", "accuracy_own", "accuracy", "auc", "auc_mean")
_LINES = {Stroke.LINE: "solid", Stroke.DASHED: "dashed", Stroke.DOTTED: "dotted"}

_STYLE = (
    "background:#fff;color:#1c2127;border:1px solid #d8dbdf;border-radius:6px;padding:12px 16px;"
    "max-width:760px;"
    "font-family:system-ui,'Segoe UI',Roboto,Arial,sans-serif;font-size:14px;line-height:1.45"
)
_RUN = """
<div class="leakgauge-result" style="{{ style }}">
{% for question, answer in answers %}
<p style="margin:0 0 8px"><span style="color:#545d68">{{ question }}</span>
<strong style="color:{{ tones[answer.tone] }}">{{ answer.words }}.</strong> {{ answer.text }}</p>
{% endfor %}
{% for alert in alerts %}
<p style="margin:0 0 8px;color:{{ tones.bad }}">{{ alert }}</p>
{% endfor %}
{% if chart %}
<p style="margin:8px 0 0;color:#545d68">{{ chart.caption }}</p>
<div style="max-width:640px" role="img" aria-label="{{ chart.alternative }}">{{ svg }}</div>
<p style="margin:0 0 8px;color:#545d68">
{% for label, mark in legend %}
<span style="white-space:nowrap;margin-right:14px"><span style="{{ mark }}"></span> {{ label }}</span>
{% endfor %}
</p>
{% endif %}
{% if rows %}
<table style="border-collapse:collapse;margin-top:4px;font-size:13px;color:#1c2127;background:#fff">
<thead><tr><th style="text-align:left">Attacker</th>
{% for title in titles %}<th style="text-align:left;padding-left:14px">{{ title }}</th>{% endfor %}
</tr></thead><tbody>
{% for label, cells in rows %}
<tr><td style="text-align:left">{{ label }}</td>
{% for cell in cells %}<td style="text-align:left;padding-left:14px">{{ cell }}</td>{% endfor %}
</tr>
{% endfor %}
</tbody></table>
{% endif %}
{% if omitted %}<p style="margin:4px 0 0;color:#545d68">{{ omitted }}</p>{% endif %}
</div>
"""


def result_html(verdicts: Sequence[Verdict], shown: Mapping[str, Any]) -> str:
    """The decision in small: risk and promise in words, one static chart, and the main numbers.

    ``shown`` is what a report shows besides the verdicts, of which any entry may be missing.
    """
    run = JudgedRun(verdicts, shown)
    decision = decision_of(run)
    chart = decision_chart(run, decision)
    listed = verdicts[:MOST_ROWS]
    names = [name for name in table_metrics(metrics_in(listed)) if name in _LISTED]
    return render_html(
        _RUN,
        style=_STYLE,
        tones=TONES,
        answers=[("Risk:", decision.risk), ("Promise:", decision.promise)],
        alerts=decision.alerts,
        chart=chart,
        svg=None if chart is None else _light_svg(chart),
        legend=[] if chart is None else [(key.label, _mark(key)) for key in chart.keys],
        titles=[describe_metric(name).title for name in names],
        rows=[(found.label, [_cell(found, name) for name in names]) for found in listed],
        omitted=f"{len(verdicts) - MOST_ROWS} more attackers: see to_frame()"
        if len(verdicts) > MOST_ROWS
        else "",
    )


def _cell(found: Verdict, name: str) -> str:
    estimate = found.metrics.get(name)
    if estimate is None or (estimate.value is None and estimate.low is None):
        return "–"
    interval = interval_text(name, estimate, found.bounds.get(name))
    if estimate.value is None or describe_metric(name).is_lower_bound:
        return interval
    return f"{value_text(name, estimate.value)} ({interval})"


def _mark(key: LegendEntry) -> str:
    """The style of the mark of a legend entry: a line as it is drawn, or else a square."""
    colour = static_svg.light_colours(key.colour)
    if (line := _LINES.get(key.stroke)) is None:
        return f"display:inline-block;width:9px;height:9px;border-radius:5px;background:{colour}"
    return f"display:inline-block;width:18px;vertical-align:middle;border-top:3px {line} {colour}"


def _light_svg(chart: Chart) -> Markup:
    """A chart as static SVG in the colours of a light page: a notebook has none of the report's styles."""
    return Markup(static_svg.light_colours(static_svg.static_chart(chart.name, chart.spec)))


def result_chart(verdicts: Sequence[Verdict], shown: Mapping[str, Any]) -> Any:
    """The chart of the decision, as one of Altair."""
    run = JudgedRun(verdicts, shown)
    chart = decision_chart(run, decision_of(run))
    if chart is None:
        raise BadInput("plot: no attacker of this result has a number to draw; see to_frame()")
    return _altair_chart(chart)


def _altair_chart(chart: Chart) -> Any:
    import altair

    spec = static_svg.light_spec(chart.spec)
    return altair.Chart.from_dict(
        {**spec, "title": {"text": chart.caption, "anchor": "start", "fontSize": 12}}
    )


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
    return as_frame({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)})


def as_frame(columns: dict[str, list[Any]]) -> Any:
    """A frame of pandas or polars, whichever is installed, or else the columns themselves."""
    for library in _LIBRARIES:
        if find_spec(library) is not None:
            return import_module(library).DataFrame(columns)
    return columns


def save_result(verdicts: Sequence[Verdict], path: str | Path, shown: Mapping[str, Any]) -> Path:
    """Write the report of a run as one HTML file."""
    manifest = {
        "summary": summarise_run(verdicts),
        "seed": verdicts[0].seed if verdicts else None,
        "date": datetime.now(UTC).date().isoformat(),
        "without_plan": "plan" not in shown,
        **shown,
    }
    return write_run_report(verdicts, manifest, _html_path(path))


def _html_path(path: str | Path) -> Path:
    file = path_argument(path, "path")
    if file.suffix != ".html":
        raise BadInput(f"path: a report is an HTML file, got {file.name!r}; name it report.html")
    return file


def check_verdict(found: Verdict, limits: Limits | Mapping[str, Any]) -> RunSummary:
    """Judge the trials of a verdict by limits."""
    stated = limits if isinstance(limits, Limits) else read_limits(limits, "limits")
    judged = found.judged_again(stated)
    return summarise_run([judged], limits=stated)


def expose_records(
    challenger: Any, domain: str, name: str, out: str | Path | None, workers: int
) -> AuditExposure:
    """Compute how exposed the records of a challenger are; a folder gets the files that ``expose`` writes."""
    folder = None if out is None else path_argument(out, "out")
    if folder is not None:
        refuse_run(folder)
    exposed = expose_challenger(challenger, domain, name, workers)
    if folder is not None:
        write_exposure_page(save_exposure([exposed], folder), folder / "exposure.html")
    return exposed


def exposure_html(exposed: AuditExposure) -> str:
    """How many people or records can be recognised, in words and as one static chart; names nobody."""
    (audit,) = summarise([exposed])["audits"]
    chart = strongest_chart(audit)
    return render_html(
        _EXPOSURE,
        style=_STYLE,
        question=exposure_question([audit]),
        answer=exposure_answer(audit),
        chart=chart,
        svg=None if chart is None else _light_svg(chart),
    )


_EXPOSURE = """
<div class="leakgauge-result" style="{{ style }}">
<p style="margin:0 0 8px"><strong>{{ question }}</strong> {{ answer }}</p>
{% if chart %}
<p style="margin:8px 0 0;color:#545d68">{{ chart.caption }}</p>
<div style="max-width:640px" role="img" aria-label="{{ chart.alternative }}">{{ svg }}</div>
{% endif %}
</div>
"""


def exposure_frame(exposed: AuditExposure) -> Any:
    """One row for each person or record, the most exposed first, as exposure.csv lists them."""
    head, *rows = read_csv_lines(io.StringIO(exposure_csv([(exposed.audit, exposed.exposure)])))
    texts = {"audit", head[1], *(name for name in head if name.startswith("query_") and name[6:].isdigit())}
    return as_frame(
        {
            name: [row[place] if name in texts else _number(row[place]) for row in rows]
            for place, name in enumerate(head)
        }
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def exposure_plot(exposed: AuditExposure) -> Any:
    """The histogram of the strongest attacker, as a chart of Altair."""
    (audit,) = summarise([exposed])["audits"]
    chart = strongest_chart(audit)
    if chart is None:
        raise BadInput("plot: there is no attacker to draw; see to_frame()")
    return _altair_chart(chart)


def save_exposure_report(exposed: AuditExposure, path: str | Path) -> Path:
    """Write the page of an exposure, which names nobody."""
    return write_exposure_page(summarise([exposed]), _html_path(path))


def check_exposure(exposed: AuditExposure, limits: Limits | Mapping[str, Any]) -> Risk:
    """Compare the share of people recognised with its limit."""
    stated = limits if isinstance(limits, Limits) else read_limits(limits, "limits")
    found = recognised_risk(summarise([exposed]), [exposed.audit], stated)
    if found is None:
        raise BadInput('limits: exposure is compared with people recognised; state {"recognised": 0.01}')
    return found
