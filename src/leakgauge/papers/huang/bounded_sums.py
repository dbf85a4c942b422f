"""Bounded sums, which the paper leaves to a remark: success against the target's value over the bound."""

from collections.abc import Sequence

import numpy as np

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.huang.plans import LEVEL, audit_table
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory import query_splitting
from leakgauge.verdict import Verdict

M, EPSILON = 10, 1.0  # answers, and what each costs
AGE = 50  # of everybody in the sum, so that value / bound is as stated
SHARES = {
    paper.Scale.QUICK: (0.1, 0.25, 0.5, 0.75, 1.0),
    paper.Scale.FULL: tuple(i / 20 for i in range(1, 21)),
}
RECORDS = 5_000  # some 70 of them of that age
ATTACKS = {"t-test": "split_t_test", "midpoint": "split_midpoint", "likelihood": "split_likelihood"}
COLOURS = dict(zip(ATTACKS, chart_style.SERIES))


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    attacks = [{"name": name, "queries": M, "label": label} for label, name in ATTACKS.items()]
    return [
        audit_table(
            f"sum-{share:g}",
            scope.scale,
            EPSILON,
            attacks,
            {"query": {"kind": "sum", "column": "age", "bound": AGE / share, "where": f"age = {AGE}"}},
            records=RECORDS,
        )
        for share in SHARES[scope.scale]
    ]


def exact_success(label: str, share: float) -> float:
    """By theory: a value of half the bound is worth half the epsilon."""
    ratio = query_splitting.laplace_ratio(EPSILON, share)
    match label:
        case "t-test":
            return float(query_splitting.success_laplace(M, [ratio], form="textbook", level=LEVEL)[0])
        case "midpoint":
            return float(query_splitting.midpoint_laplace(M, ratio))
        case _:
            return float(np.mean(query_splitting.optimum_laplace(M, ratio)))


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    cells = [
        comparison.ComparedNumber(
            setting=f"{verdict.label}: value / bound = {_share(verdict):g}, simulated",
            ours=metric_intervals.accuracy(verdict),
            exact=exact_success(verdict.label, _share(verdict)),
            why="The paper has only counts.",
        )
        for verdict in played.verdicts
    ]
    return paper.ItemResult(tuple(cells), (_chart(played.verdicts, SHARES[played.scope.scale]),))


def _share(verdict: Verdict) -> float:
    return float(verdict.audit.partition("-")[2])


def _chart(verdicts: Sequence[Verdict], shares: Sequence[float]) -> Chart:
    return series_chart(
        "sums",
        [trace for label in ATTACKS for trace in _traces(label, verdicts, shares)],
        x_title="value / bound",
        y_title="success rate",
        caption=f"Success against the target's value over the bound: {M} answers, ε = {EPSILON:g} each.",
        alternative="; ".join(
            f"{label} goes from {exact_success(label, shares[0]):.3f} at {shares[0]:g} of the bound to "
            f"{exact_success(label, 1.0):.3f} at the bound"
            for label in ATTACKS
        ),
        played=f"simulated, {metric_intervals.confidence_text(verdicts)} interval",
    )


def _traces(label: str, verdicts: Sequence[Verdict], shares: Sequence[float]) -> list[ChartSeries]:
    points = [
        (_share(verdict), metric_intervals.accuracy(verdict))
        for verdict in verdicts
        if verdict.label == label
    ]
    exact = np.array([exact_success(label, share) for share in shares])
    return [
        line_series(label, np.array(shares), exact, Stroke.LINE, COLOURS[label]),
        dot_series(f"{label}, simulated", points, COLOURS[label]),
    ]


SUMS = paper.PaperItem(
    title="Bounded sums: success against the target's value over the bound",
    about="In a sum whose values are clipped to a bound, the noise hides a value as large as the bound. The "
    f"same query is asked {M} times, ε = {EPSILON:g} each, about a target whose value is between a tenth of "
    "the bound and the bound. Lines are theory, dots are simulated games.",
    audits=_audits,
    show=_show,
    notes=(
        "A value of r times the bound is as easy to detect as a record in a count at r times the ε.",
        "With generous bounds most people are better protected than ε says, but those at the bound are not.",
    ),
)
