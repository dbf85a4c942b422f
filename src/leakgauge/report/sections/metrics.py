"""Every metric with its interval beside what the promise allows: a chart of epsilon, and tables."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from leakgauge import catalog
from leakgauge.report.adversary_names import SEPARATOR, adversary_names, whole_sentences
from leakgauge.report.charts.intervals import IntervalRow, interval_chart
from leakgauge.report.judged_run import JudgedRun, most_severe, omission_note
from leakgauge.report.metric_text import (
    bound_text,
    describe_metric,
    exceeds_bound,
    interval_text,
    is_shown,
    low_text,
    metrics_in,
    promised_text,
    table_metrics,
    value_text,
)
from leakgauge.report.number_format import NOTHING, confidence
from leakgauge.report.page import Chart, Section, render_html
from leakgauge.summary import TOO_WEAK_ACCURACY
from leakgauge.verdict import Finding, Verdict

ORDER = 20
MOST_BARS = 24
LARGEST_DRAWN = 10.0  # epsilon of a promise that is compared in a chart; a larger one would dwarf the bars
MOST_ROWS, MOST_REASONS, MOST_OTHERS = 80, 20, 6
LONGEST_REASON = 400

HOW_TO_READ_EPSILON = (
    "A bar is as long as the ε that the attacker's success proves at the stated confidence; the whole leak "
    "may be larger. A bar beyond the red line means the promise is broken."
)

_TEMPLATE = """
{{ tables }}
{% if alone %}
<p class="note">An interval above its bound where the finding is not “violated” exceeds it taken alone,
but not
after the correction for everything that was compared.
{% if single %}Where there was a single release, intervals are over its records and leave out chance in the
release.
{% endif %}</p>
{% endif %}
{% if chart %}
<h3>ε shown against ε promised</h3>
<p>{{ reading }}</p>
{{ chart.figure }}
{% endif %}
"""

_TABLES = """
{{ main }}
<details>
<summary>Further numbers, and why some intervals are missing</summary>
{{ further }}
{% if reasons %}
<ol class="footnotes">
{% for reason in reasons %}
<li>{{ reason }}</li>
{% endfor %}
</ol>
{% endif %}
</details>
"""

_TABLE = """
<div class="scroll" role="region" aria-label="{{ title }}" tabindex="0">
<table>
<caption>{{ title }}: value, interval and, where the promise limits it, the most it allows. {{ omitted
}}</caption>
<thead><tr><th scope="col">Attacker</th>
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
    """Tables with value, interval and bound of every metric, and a chart of epsilon."""
    chart = epsilon_chart(run.verdicts, "measured-epsilon")
    html = render_html(
        _TEMPLATE,
        chart=chart,
        reading=HOW_TO_READ_EPSILON,
        tables=metric_tables(run.verdicts),
        alone=any(_passes_alone(verdict) for verdict in run.verdicts),
        single=any(verdict.rounds == 1 < verdict.n_targets for verdict in run.verdicts),
    )
    return Section("The numbers", html, (chart,) if chart else ())


def epsilon_chart(verdicts: Sequence[Verdict], name: str, most: int = MOST_BARS) -> Chart | None:
    """A bar for each attacker, where a promise is small enough to be compared with one."""
    compared = [verdict for verdict in verdicts if _is_comparable(verdict)]
    if not compared:
        return None
    shown = most_severe(compared, most)
    rows = [
        _interval(verdict, name, "epsilon")
        for name, verdict in zip(adversary_names(shown, verdicts), shown, strict=True)
    ]
    return interval_chart(
        name,
        [row for row, _ in rows],
        title="ε (lower bound)",
        caption="ε shown by each attacker, and ε promised. "
        + omission_note(len(shown), len(compared), "attackers"),
        alternative="; ".join(text for _, text in rows),
        step=34 if any(SEPARATOR in row.label for row, _ in rows) else 24,
    )


def _is_comparable(verdict: Verdict) -> bool:
    bound = verdict.bounds.get("epsilon")
    shown = "epsilon" in verdict.metrics and verdict.metrics["epsilon"].low is not None
    return shown and bound is not None and bound <= LARGEST_DRAWN


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
    beyond = any(exceeds_bound(verdict, name) for name in table_metrics(shown))
    return beyond and verdict.finding is not Finding.VIOLATED


def metric_tables(verdicts: Sequence[Verdict]) -> Markup:
    """Write the main metrics, further ones in a closed box, and why some intervals are missing."""
    shown = most_severe(verdicts, MOST_ROWS)
    present = metrics_in(shown)
    main = table_metrics(present)
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
        omitted=omission_note(len(shown), len(verdicts), "attackers"),
    )


def _cell(verdict: Verdict, metric: str, reasons: dict[str, int]) -> dict[str, Any]:
    estimate, bound = verdict.metrics.get(metric), verdict.bounds.get(metric)
    if estimate is None or (describe_metric(metric).worst_of and not is_shown(verdict, metric)):
        return {"value": NOTHING, "interval": "", "note": "", "allowed": "", "beyond": False}
    one_sided = describe_metric(metric).is_lower_bound
    known = estimate.value is not None or estimate.low is not None
    note = _footnote(estimate.reason, reasons) if estimate.reason else ""
    interval = interval_text(metric, estimate, bound)
    return {
        "value": (f"≥ {low_text(metric, estimate, bound)}" if estimate.low is not None else NOTHING)
        if one_sided
        else value_text(metric, estimate.value),
        "interval": ("" if estimate.low is not None else interval) if one_sided else interval,
        "note": note,
        "allowed": _allowed_text(verdict, metric)
        if exceeds_bound(verdict, metric) or (known and _limits(verdict))
        else "",
        "beyond": exceeds_bound(verdict, metric),
    }


def _allowed_text(verdict: Verdict, metric: str) -> str:
    """The most that the promise allows; for epsilon the promise itself, with the unit that it is about."""
    bound, promised = verdict.bounds.get(metric), verdict.promised or {}
    if metric == "epsilon" and bound is not None and bound == promised.get("epsilon"):
        return promised_text(promised)
    return bound_text(metric, bound)


def _limits(verdict: Verdict) -> bool:
    """Whether the promise limits an attacker enough to be worth comparing with."""
    return (verdict.bounds.get("accuracy") or 0.0) < TOO_WEAK_ACCURACY


def _footnote(reason: str, reasons: dict[str, int]) -> int:
    text = whole_sentences(reason, LONGEST_REASON)
    if text not in reasons and len(reasons) >= MOST_REASONS - 1:
        text = "Another reason; verdicts.json holds it."
    return reasons.setdefault(text, len(reasons) + 1)
