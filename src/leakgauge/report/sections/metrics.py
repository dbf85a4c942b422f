"""Every metric with its interval beside what the promise allows: charts and tables."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from leakgauge import catalog
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.report.charts.intervals import IntervalRow, interval_chart
from leakgauge.report.metric_text import (
    TABLE_METRICS,
    bound_text,
    describe_metric,
    exceeds_bound,
    headline_metric,
    interval_text,
    low_text,
    metrics_in,
    value_text,
)
from leakgauge.report.number_format import NOTHING, confidence
from leakgauge.report.page import Chart, Section, render_html
from leakgauge.report.run_report import JudgedRun, most_severe, omission_note
from leakgauge.verdict import Finding, Verdict

ORDER = 20
MOST_BARS, MOST_RATES = 24, 10
RATES = ("accuracy", "auc", "tpr_at_fpr_0.01")
MOST_ROWS, MOST_REASONS, MOST_OTHERS = 80, 20, 6
LONGEST_REASON = 400

_TEMPLATE = """
{% if bounded %}
<p>The first chart sets what has been <em>shown</em> against what was <em>promised</em>. A bar is as long as
the ε that the adversary's success shows at the stated confidence; the whole leak may be larger. A bar past
the red mark speaks against the promise.</p>
{% endif %}
{% for chart in charts %}
{{ chart.figure }}
{% endfor %}
{{ tables }}
{% if alone %}
<p class="note">An interval above its bound where the finding is not “violated” passes it taken alone, but not
once the finding is corrected for all that was compared: among many intervals, some pass by chance.
{% if single %}Where there was a single round, intervals are over its records, and leave out chance in the
release.
{% endif %}</p>
{% endif %}
"""

_TABLES = """
{{ main }}
{% if further %}
<details>
<summary>Further metrics</summary>
{{ further }}
</details>
{% endif %}
{% if reasons %}
<ol class="footnotes">
{% for reason in reasons %}
<li>{{ reason }}</li>
{% endfor %}
</ol>
{% endif %}
"""

_TABLE = """
<div class="scroll" role="region" aria-label="{{ title }}" tabindex="0">
<table>
<caption>{{ title }}: value, interval, and the most the promise allows. {{ omitted }}</caption>
<thead><tr><th scope="col">Adversary</th>
{% for column, meaning in columns %}
<th scope="col" class="n" title="{{ meaning }}">{{ column }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for name, cells in rows %}
<tr><th scope="row">{{ name }}</th>
{% for cell in cells %}
<td class="n{{ ' beyond' if cell.beyond }}">{{ cell.value }}
{%- if cell.interval %}<small>{{ cell.interval }}
{%- if cell.note %}<sup>{{ cell.note }}</sup>{% endif %}</small>{% endif %}
{%- if cell.allowed %}<small>{{ 'exceeds' if cell.beyond else 'allowed' }} {{ cell.allowed }}</small>
{%- endif %}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
"""


def section(run: JudgedRun) -> Section:
    """Charts and tables: value, interval and bound of every metric."""
    shown = _epsilon_chart(run.verdicts)
    charts = [chart for chart in (shown, _rates_chart(run.verdicts)) if chart]
    html = render_html(
        _TEMPLATE,
        charts=charts,
        bounded=shown is not None,
        tables=metric_tables(run.verdicts),
        alone=any(_passes_alone(verdict) for verdict in run.verdicts),
        single=any(verdict.rounds == 1 < verdict.n_targets for verdict in run.verdicts),
    )
    return Section("Measured against promised", html, tuple(charts))


def _epsilon_chart(verdicts: Sequence[Verdict]) -> Chart | None:
    shown = most_severe([v for v in verdicts if "epsilon" in v.metrics], MOST_BARS)
    if all(v.metrics["epsilon"].low is None and v.bounds.get("epsilon") is None for v in shown):
        return None  # nothing shown, and nothing promised
    rows = [
        _interval(verdict, name, "epsilon")
        for name, verdict in zip(adversary_names(shown, verdicts), shown, strict=True)
    ]
    return interval_chart(
        "measured-epsilon",
        [row for row, _ in rows],
        title="ε (lower bound)",
        caption="The ε that each adversary has shown, and the ε promised. "
        + omission_note(len(shown), len(verdicts), "adversaries"),
        alternative="; ".join(text for _, text in rows),
    )


def _rates_chart(verdicts: Sequence[Verdict]) -> Chart | None:
    shown = most_severe([v for v in verdicts if any(_has_value(v, name) for name in RATES)], MOST_RATES)
    if not shown:
        return None
    rows = [
        _interval(verdict, label, metric)
        for label, verdict in zip(adversary_names(shown, verdicts), shown, strict=True)
        for metric in (headline_metric(verdict, name) for name in RATES)
        if _has_value(verdict, metric)
    ]
    return interval_chart(
        "measured-rates",
        [row for row, _ in rows],
        title="accuracy and hits as shares; AUC, where 100% stands for 1",
        span=(0.0, 1.01),
        caption="How well each adversary tells members from non-members, with intervals. "
        + omission_note(len(shown), len(verdicts), "adversaries"),
        alternative="; ".join(text for _, text in rows),
        share=True,
    )


def _has_value(verdict: Verdict, metric: str) -> bool:
    return metric in verdict.metrics and verdict.metrics[metric].value is not None


def _interval(verdict: Verdict, label: str, metric: str) -> tuple[IntervalRow, str]:
    estimate, bound = verdict.metrics[metric], verdict.bounds.get(metric)
    within = interval_text(metric, estimate, bound)
    one_sided = describe_metric(metric).is_lower_bound
    shown = within if one_sided else f"{value_text(metric, estimate.value)} ({within})"
    allowed = bound_text(metric, bound)
    row = IntervalRow(
        label=label,
        shown=f"{shown}, {confidence(estimate)} confidence",
        within=allowed,
        value=None if one_sided else estimate.value,
        low=estimate.low,
        high=estimate.high,
        allowed=bound,
        **({} if one_sided else {"series": describe_metric(metric).title}),
    )
    return row, f"{label}, {describe_metric(metric).title}: {shown}" + (
        f", allowed {allowed}" if allowed else ""
    )


def _passes_alone(verdict: Verdict) -> bool:
    shown = metrics_in([verdict])
    beyond = any(exceeds_bound(verdict, name) for name in TABLE_METRICS if name in shown)
    return beyond and verdict.finding is not Finding.VIOLATED


def metric_tables(verdicts: Sequence[Verdict]) -> Markup:
    """Write the main metrics, further ones in a closed box, and why some intervals are missing."""
    shown = most_severe(verdicts, MOST_ROWS)
    present = metrics_in(shown)
    main = [name for name in TABLE_METRICS if name in present]
    further = [name for name in catalog.metric_descriptions() if name in present and name not in main]
    others = sorted(present - set(catalog.metric_descriptions()))[:MOST_OTHERS]
    reasons: dict[str, int] = {}
    return render_html(
        _TABLES,
        main=_table("Measured", main, shown, verdicts, reasons),
        further=_table("Further metrics", [*further, *others], shown, verdicts, reasons),
        reasons=list(reasons),
    )


def _table(
    title: str,
    columns: Sequence[str],
    shown: Sequence[Verdict],
    verdicts: Sequence[Verdict],
    reasons: dict[str, int],
) -> str:
    if not columns:
        return ""
    return render_html(
        _TABLE,
        title=title,
        columns=[(describe_metric(name).title, describe_metric(name).meaning) for name in columns],
        rows=[
            (name, [_cell(verdict, column, reasons) for column in columns])
            for name, verdict in zip(adversary_names(shown, verdicts), shown, strict=True)
        ],
        omitted=omission_note(len(shown), len(verdicts), "adversaries"),
    )


def _cell(verdict: Verdict, metric: str, reasons: dict[str, int]) -> dict[str, Any]:
    estimate, bound = verdict.metrics.get(metric), verdict.bounds.get(metric)
    if estimate is None:
        return {"value": NOTHING, "interval": "", "note": "", "allowed": "", "beyond": False}
    one_sided = describe_metric(metric).is_lower_bound
    note = _footnote(estimate.reason, reasons) if estimate.reason else ""
    interval = interval_text(metric, estimate, bound)
    return {
        "value": (f"≥ {low_text(metric, estimate, bound)}" if estimate.low is not None else NOTHING)
        if one_sided
        else value_text(metric, estimate.value),
        "interval": ("" if estimate.low is not None else interval) if one_sided else interval,
        "note": note,
        "allowed": bound_text(metric, bound),
        "beyond": exceeds_bound(verdict, metric),
    }


def _footnote(reason: str, reasons: dict[str, int]) -> int:
    text = clip(reason, LONGEST_REASON)
    if text not in reasons and len(reasons) >= MOST_REASONS - 1:
        text = "Another reason; verdicts.json holds it."
    return reasons.setdefault(text, len(reasons) + 1)
