"""The first screen of the report: two lamps, one chart, the people concerned, and what to do next."""

from collections.abc import Sequence
from textwrap import wrap

from leakgauge.limits import Limits
from leakgauge.report.adversary_names import SEPARATOR, clip
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.identifications import AttackerRow, LimitLine, identification_chart
from leakgauge.report.decision import (
    Decision,
    Evidence,
    attacker_title,
    decision_of,
    leading_estimate,
    leading_value,
    leading_verdict,
)
from leakgauge.report.judged_run import JudgedRun, by_audit
from leakgauge.report.metric_text import LARGEST_LIMIT, interval_text
from leakgauge.report.number_format import level, percent, times
from leakgauge.report.page import Chart, Section, Stroke, render_html
from leakgauge.report.sections.metrics import HOW_TO_READ_EPSILON, epsilon_chart
from leakgauge.risk import leading_metric
from leakgauge.summary import is_control
from leakgauge.verdict import Verdict

MOST_ROWS = 6
LONGEST_LINE = 40  # characters of a title in the chart
WIDEST = 0.4  # an interval that is wider says nothing, and is not drawn
CHART = "identifications"

_TEMPLATE = """
<p class="decision {{ decision.tone }}" id="decision">{{ decision.line }}</p>
<div class="lamps">
<div class="lamp {{ decision.risk.tone }}" id="risk">
<p class="question">Risk: how well can people be identified?</p>
<p class="answer"><span class="bulb" aria-hidden="true"></span>{{ decision.risk.words }}</p>
{% if number %}
<p class="leading"><strong id="leading-number">{{ number.value }}</strong>
<span>{{ number.title }}
{%- if number.worst %}; most exposed target: <b>{{ number.worst }}</b>{% endif %}
{%- if number.control %}; control, who never sees the release: {{ number.control }}{% endif %}</span></p>
{% endif %}
<p>{{ decision.risk.text|replace("ε = ", "ε\u00a0=\u00a0") }}</p>
{% if decision.limits %}
<ul class="steps" id="limits">
{% for row in decision.limits %}
<li>{{ row.limit }}: <b>{{ row.status }}</b>{% if row.found %}; {{ row.found }}{% endif %}</li>
{% endfor %}
</ul>
{% endif %}
</div>
<div class="lamp {{ decision.promise.tone }}" id="promise">
<p class="question">Promise: is the stated ε kept, and does it protect?</p>
<p class="answer"><span class="bulb" aria-hidden="true"></span>{{ decision.promise.words }}</p>
<p>{{ decision.promise.text|replace("ε = ", "ε\u00a0=\u00a0") }}</p>
</div>
</div>
{% for alert in decision.alerts %}
<p class="alert">{{ alert }}</p>
{% endfor %}
<div class="evidence">
<div>
{% if chart %}
{{ chart.figure }}
<p class="note">
{%- if decision.evidence == "epsilon" %}{{ reading }}
{%- else %}{{ number.assumes[0]|upper }}{{ number.assumes[1:] }}. {{ number.among }}{% endif -%}
</p>
{% endif %}
</div>
<div>
{% if decision.people %}
<h2>People</h2>
<p id="people">{{ decision.people }}</p>
{% endif %}
{% if steps %}
<h2>What to do next</h2>
<ol class="steps">
{% for step in steps %}
<li>{{ step }}</li>
{% endfor %}
</ol>
{% endif %}
</div>
</div>
"""


def first_screen(run: JudgedRun) -> Section:
    """The first screen."""
    decision = decision_of(run)
    chart = decision_chart(run, decision)
    html = render_html(
        _TEMPLATE,
        decision=decision,
        number=decision.number,
        chart=chart,
        reading=HOW_TO_READ_EPSILON,
        steps=[step for step in decision.steps if step != decision.line],
    )
    return Section("The decision", html, (chart,) if chart else ())


def decision_chart(run: JudgedRun, decision: Decision) -> Chart | None:
    """What the decision rests on; nothing where no number is known."""
    if decision.evidence is Evidence.EPSILON:
        covered = [verdict for verdict in run.verdicts if verdict.audit in run.summary.covers]
        if (chart := epsilon_chart(covered, CHART, MOST_ROWS)) is not None:
            return chart
    return _success_chart(run)


def _success_chart(run: JudgedRun) -> Chart | None:
    """How often each attacker of the leading audit is right."""
    leading = leading_verdict(run)
    if leading is None:
        return None
    rivals = [verdict for verdict in by_audit(run.verdicts)[leading.audit] if leading_estimate(verdict)]
    counted = [verdict for verdict in rivals if _counts(verdict, run)]
    shown = _strongest_first(rivals, counted)
    rows = [
        _row(name, verdict, counts=verdict in counted)
        for name, verdict in zip(_names(shown), shown, strict=True)
    ]
    limits = _limits(run, leading, all_count=len(counted) == len(rivals))
    average = ", on average over targets" if leading.n_targets > 1 else ""
    several = f" in audit {clip(leading.audit)}" if len({v.audit for v in run.verdicts}) > 1 else ""
    left_off = (
        f"; {times(len(rivals) - len(shown), 'more attacker')} in the appendix"
        if len(rivals) > len(shown)
        else ""
    )
    return identification_chart(
        CHART,
        rows,
        limits,
        caption=f"Correct identifications by each attacker{average}{several}{left_off}",
        alternative="; ".join(
            [
                "Correct identifications, from 50% (coin toss) to 100%",
                *(_described(row) for row in rows),
                *(f"{limit.label}: {percent(limit.value)}" for limit in limits),
            ]
        ),
    )


def _counts(verdict: Verdict, run: JudgedRun) -> bool:
    """Whether the limits of the owner are about an attacker, or a control, to which none ever apply."""
    about = Limits(attackers=tuple(run.summary.limits.get("attackers", ())))
    return is_control(verdict) or about.counts(verdict.knowledge, verdict.label)


def _described(row: AttackerRow) -> str:
    not_counted = "" if row.counts or row.is_control else ", not counted by your limit"
    return f"{row.label.replace(SEPARATOR, ', ')} ({row.interval}{not_counted})"


def _strongest_first(verdicts: Sequence[Verdict], counted: Sequence[Verdict]) -> list[Verdict]:
    """The attackers that count, then others, those that are right most often first; then a control."""
    ordered = sorted(verdicts, key=lambda verdict: (verdict not in counted, -(leading_value(verdict) or 0.0)))
    controls = [verdict for verdict in ordered if is_control(verdict)][:1]
    return [verdict for verdict in ordered if not is_control(verdict)][: MOST_ROWS - len(controls)] + controls


def _names(verdicts: Sequence[Verdict]) -> list[str]:
    """Who attacks, by what they know; with the label too where several know the same."""
    titles = [attacker_title(verdict).removeprefix("attacker ") for verdict in verdicts]
    return [
        SEPARATOR.join([*wrap(title, LONGEST_LINE), ""])
        + ("" if titles.count(title) == 1 else f"{clip(verdict.label, 26)}: ")
        for title, verdict in zip(titles, verdicts, strict=True)
    ]


def _row(name: str, verdict: Verdict, *, counts: bool) -> AttackerRow:
    metric, estimate = leading_metric(verdict.metrics) or "", leading_estimate(verdict)
    if estimate is None or estimate.value is None:
        raise ValueError(f"{verdict.label} has no number to draw")
    known = estimate.low is not None and estimate.high is not None
    drawn = known and (estimate.high or 0.0) - (estimate.low or 0.0) <= WIDEST
    interval = interval_text(metric, estimate) if drawn or not known else "interval too wide to draw"
    return AttackerRow(
        label=f"{name}{percent(estimate.value)}",
        interval=interval,
        value=estimate.value,
        low=estimate.low if drawn else None,
        high=estimate.high if drawn else None,
        is_control=is_control(verdict),
        counts=counts,
    )


def _limits(run: JudgedRun, leading: Verdict, *, all_count: bool) -> list[LimitLine]:
    lines = []
    if (limit := run.summary.limits.get("accuracy")) is not None:
        whose = "assumed" if "limits.accuracy" in run.summary.assumed else "your"
        lines.append(
            LimitLine(
                label=f"{whose} limit ({level(limit)}){'' if all_count else ', for attackers that count'}",
                value=limit,
                colour=chart_style.INK,
                stroke=Stroke.LINE,
                counted_only=True,
            )
        )
    allowed = leading.bounds.get("accuracy")
    if allowed is not None and allowed <= LARGEST_LIMIT:
        lines.append(
            LimitLine(
                label=f"most the promise allows ({percent(allowed)})",
                value=allowed,
                colour=chart_style.PROMISE,
                stroke=Stroke.DASHED,
            )
        )
    return lines
