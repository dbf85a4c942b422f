"""ROC curves, with what the promise allows drawn over them."""

from collections.abc import Sequence

from leakgauge.report import judged_run, metric_text, page
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.report.charts.roc import MOST_POINTS, RocCurve, roc_chart
from leakgauge.verdict import Verdict

ORDER = 30
MOST_AUDITS, MOST_CURVES = 1, 4
ALLOWED = "most the promise allows"

_TEMPLATE = """
<p>Each curve shows the share of members found (vertical) for a given share of non-members wrongly accused
(horizontal). The dotted line is a coin toss. A curve above the dashed red line finds more members than the
promise allows, but single points may lie above it by chance: the finding is based on intervals. The second
chart enlarges the corner where few non-members are accused.</p>
<p class="note">
{% if together %}An attacker focused on one person can do better than this pooled curve; see “mean of
targets”.
{% endif %}
{% if thinned %}Curves are simplified to {{ most_points }} points.
{% endif %}{{ omitted }}</p>
{% for title, charts in audits %}
<h3>{{ title }}</h3>
<div class="pair">
{% for chart in charts %}
{{ chart.figure }}
{% endfor %}
</div>
{% endfor %}
"""


def section(run: judged_run.JudgedRun) -> page.Section | None:
    """Two views of each audit's curves, linear and logarithmic."""
    verdicts = run.verdicts
    drawable = [verdict for verdict in verdicts if verdict.roc.get("fpr")]
    if not drawable:
        return None
    audits = judged_run.by_audit(drawable)
    first = list(judged_run.by_audit(judged_run.severest_first(drawable)))[:MOST_AUDITS]
    chosen = {audit: judged_run.most_severe(audits[audit], MOST_CURVES) for audit in audits if audit in first}
    shown = sum(map(len, chosen.values()))
    pairs = [
        (clip(audit), [_chart(place, rivals, log) for log in (False, True)])
        for place, (audit, rivals) in enumerate(chosen.items(), start=1)
    ]
    html = page.render_html(
        _TEMPLATE,
        audits=pairs,
        most_points=MOST_POINTS,
        thinned=any(len(verdict.roc["fpr"]) > 50 for rivals in chosen.values() for verdict in rivals),
        together=any(
            verdict.n_targets > 1 and verdict.rounds > 1 for rivals in chosen.values() for verdict in rivals
        ),
        omitted=judged_run.omission_note(shown, len(drawable), "curves"),
    )
    return page.Section(
        "Members found against non-members accused",
        html,
        tuple(chart for _, charts in pairs for chart in charts),
    )


def _chart(place: int, rivals: Sequence[Verdict], log: bool) -> page.Chart:
    names = adversary_names(rivals, rivals)
    bounds = {
        (tuple(verdict.bound_roc["fpr"]), tuple(verdict.bound_roc["tpr"])): name
        for name, verdict in zip(names, rivals, strict=True)
        if verdict.bound_roc and verdict.bound_roc.get("fpr")
    }
    return roc_chart(
        f"roc-{place}-{'log' if log else 'linear'}",
        [
            RocCurve(name, verdict.roc["fpr"], verdict.roc["tpr"])
            for name, verdict in zip(names, rivals, strict=True)
        ],
        [
            RocCurve(ALLOWED if len(bounds) == 1 else f"{ALLOWED} ({name})", fpr, tpr)
            for (fpr, tpr), name in bounds.items()
        ],
        log=log,
        caption="Logarithmic axes: few non-members accused" if log else "Linear axes",
        alternative=_alternative(names, rivals, log),
    )


def _alternative(names: Sequence[str], rivals: Sequence[Verdict], log: bool) -> str:
    read = [
        f"{name}: {metric_text.describe_metric(metric).title.lower()} "
        f"{metric_text.value_text(metric, verdict.metrics[metric].value)}"
        + (
            f" (allowed {metric_text.bound_text(metric, bound)})"
            if (bound := verdict.bounds.get(metric)) is not None
            else ""
        )
        for name, verdict in zip(names, rivals, strict=True)
        for metric in metric_text.LOW_RATES
        if metric in verdict.metrics
    ]
    axes = "logarithmic" if log else "linear"
    return f"ROC curves on {axes} axes of {', '.join(names)}. " + ". ".join(read)
