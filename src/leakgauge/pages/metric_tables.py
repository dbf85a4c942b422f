"""Tables of every metric: value, interval, and the most the promise allows."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from leakgauge.pages import words
from leakgauge.pages.markup import render_html
from leakgauge.pages.numbers import NOTHING
from leakgauge.pages.selection import left_out, most_telling
from leakgauge.verdict import Verdict

MOST_ROWS, MOST_REASONS, MOST_OTHERS = 80, 20, 6
LONGEST_REASON = 400

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


def metric_tables(verdicts: Sequence[Verdict]) -> Markup:
    """Write the main metrics, the further ones folded away, and why some intervals are missing."""
    shown = most_telling(verdicts, MOST_ROWS)
    present = words.metrics_in(shown)
    main = [name for name in words.TOLD if name in present]
    further = [name for name in words.METRICS if name in present and name not in main]
    others = sorted(present - set(words.METRICS))[:MOST_OTHERS]
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
        columns=[(words.term(name).title, words.term(name).meaning) for name in columns],
        rows=[
            (name, [_cell(verdict, column, reasons) for column in columns])
            for name, verdict in zip(words.names(shown, verdicts), shown, strict=True)
        ],
        omitted=left_out(len(shown), len(verdicts), "adversaries"),
    )


def _cell(verdict: Verdict, metric: str, reasons: dict[str, int]) -> dict[str, Any]:
    estimate, bound = verdict.metrics.get(metric), verdict.bounds.get(metric)
    if estimate is None:
        return {"value": NOTHING, "interval": "", "note": "", "allowed": "", "beyond": False}
    one_sided = metric == "epsilon"
    note = _footnote(estimate.reason, reasons) if estimate.reason else ""
    interval = words.interval(metric, estimate, bound)
    return {
        "value": (f"≥ {words.low(metric, estimate, bound)}" if estimate.low is not None else NOTHING)
        if one_sided
        else words.amount(metric, estimate.value),
        "interval": ("" if estimate.low is not None else interval) if one_sided else interval,
        "note": note,
        "allowed": words.allowed(metric, bound),
        "beyond": words.exceeds(verdict, metric),
    }


def _footnote(reason: str, reasons: dict[str, int]) -> int:
    text = words.clip(reason, LONGEST_REASON)
    if text not in reasons and len(reasons) >= MOST_REASONS - 1:
        text = "Another reason; verdicts.json holds it."
    return reasons.setdefault(text, len(reasons) + 1)
