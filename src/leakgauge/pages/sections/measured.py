"""Every estimate beside what the promise allows."""

from collections.abc import Sequence

from leakgauge.pages import words
from leakgauge.pages.charts import Interval, interval_chart
from leakgauge.pages.judged import Judged
from leakgauge.pages.markup import render_html
from leakgauge.pages.metric_tables import metric_tables
from leakgauge.pages.numbers import confidence
from leakgauge.pages.page import Chart, Section
from leakgauge.pages.selection import left_out, most_telling
from leakgauge.pages.standing import standing
from leakgauge.verdict import Finding, Verdict

ORDER = 20
MOST_BARS, MOST_RATES = 24, 10
RATES = ("accuracy", "auc", "tpr_at_fpr_0.01")

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


def section(run: Judged) -> Section:
    """Charts and tables: value, interval and bound of every metric."""
    shown = _epsilons(run.verdicts)
    charts = [chart for chart in (shown, _rates(run.verdicts)) if chart]
    html = render_html(
        _TEMPLATE,
        charts=charts,
        bounded=shown is not None,
        tables=metric_tables(run.verdicts),
        alone=any(_passes_alone(verdict) for verdict in run.verdicts),
        single=any(verdict.rounds == 1 < verdict.n_targets for verdict in run.verdicts),
    )
    return Section("Measured against promised", html, tuple(charts))


def _epsilons(verdicts: Sequence[Verdict]) -> Chart | None:
    shown = most_telling([v for v in verdicts if "epsilon" in v.metrics], MOST_BARS)
    if all(v.metrics["epsilon"].low is None and v.bounds.get("epsilon") is None for v in shown):
        return None  # nothing shown, and nothing promised
    rows = [
        _interval(verdict, name, "epsilon")
        for name, verdict in zip(words.names(shown, verdicts), shown, strict=True)
    ]
    return interval_chart(
        "measured-epsilon",
        [row for row, _ in rows],
        title="ε (lower bound)",
        caption="The ε that each adversary has shown, and the ε promised. "
        + left_out(len(shown), len(verdicts), "adversaries"),
        alternative="; ".join(text for _, text in rows),
    )


def _rates(verdicts: Sequence[Verdict]) -> Chart | None:
    shown = most_telling([v for v in verdicts if any(_has_value(v, name) for name in RATES)], MOST_RATES)
    if not shown:
        return None
    rows = [
        _interval(verdict, label, metric)
        for label, verdict in zip(words.names(shown, verdicts), shown, strict=True)
        for metric in (standing(verdict, name) for name in RATES)
        if _has_value(verdict, metric)
    ]
    return interval_chart(
        "measured-rates",
        [row for row, _ in rows],
        title="accuracy and hits as shares; AUC, where 100% stands for 1",
        span=(0.0, 1.01),
        caption="How well each adversary tells members from non-members, with intervals. "
        + left_out(len(shown), len(verdicts), "adversaries"),
        alternative="; ".join(text for _, text in rows),
        share=True,
    )


def _has_value(verdict: Verdict, metric: str) -> bool:
    return metric in verdict.metrics and verdict.metrics[metric].value is not None


def _interval(verdict: Verdict, label: str, metric: str) -> tuple[Interval, str]:
    estimate, bound = verdict.metrics[metric], verdict.bounds.get(metric)
    within = words.interval(metric, estimate, bound)
    one_sided = metric == "epsilon"
    shown = within if one_sided else f"{words.amount(metric, estimate.value)} ({within})"
    allowed = words.allowed(metric, bound)
    row = Interval(
        label=label,
        shown=f"{shown}, {confidence(estimate)} confidence",
        within=allowed,
        value=None if one_sided else estimate.value,
        low=estimate.low,
        high=estimate.high,
        allowed=bound,
        **({} if one_sided else {"series": words.term(metric).title}),
    )
    return row, f"{label}, {words.term(metric).title}: {shown}" + (f", allowed {allowed}" if allowed else "")


def _passes_alone(verdict: Verdict) -> bool:
    shown = words.metrics_in([verdict])
    beyond = any(words.exceeds(verdict, name) for name in words.TOLD if name in shown)
    return beyond and verdict.finding is not Finding.VIOLATED
