"""Figures 18, 21 and 27: ROC curves at 60 cells, on logarithmic axes that show rare false positives."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.liu24 import accuracy_by_cells, exact_values, plans, statements
from leakgauge.papers.liu24.charts import MeasuredQuantity, variant_label
from leakgauge.report.charts.roc import RocCurve, roc_chart
from leakgauge.report.page import Chart
from leakgauge.verdict import Verdict

RARE = 0.01  # a false-positive rate
PLACES = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 120)])  # where curves of several targets are averaged
# in the order of colours
ORDER = ("one_threshold", "two_threshold", "likelihood", plans.NETWORK, "reference")


def _exact_tpr(noise: str, _: str, n: Reals) -> Reals:
    """Only of the best attack: votes cannot reach every false-positive rate."""
    return np.array([float(exact_values.optimum(noise, int(k)).tpr_at(RARE)[1]) for k in n])


TPR = MeasuredQuantity(
    "TPR at 1 % FPR",
    partial(metric_intervals.metric, metric=f"tpr_at_fpr_{RARE}"),
    _exact_tpr,
    exact_for=("likelihood",),
)


def _figure_18(played: paper.PlayedItem) -> paper.ItemResult:
    return _roc_figure(
        "figure-18", "laplace", plans.LARGE["laplace"], played, "small false positive rates, appendix C"
    )


def _figure_21(played: paper.PlayedItem) -> paper.ItemResult:
    return _roc_figure(
        "figure-21", "gaussian", plans.LARGE["gaussian"], played, "“a clear advantage”, appendix D"
    )


def _figure_27(played: paper.PlayedItem) -> paper.ItemResult:
    return _roc_figure(
        "figure-27", "laplace", plans.HUNDRED_UNITS, played, "behaves like the other network, appendix G"
    )


def _roc_figure(
    name: str, noise: str, run: plans.RepeatedRuns, played: paper.PlayedItem, where: str
) -> paper.ItemResult:
    games = {p: some for p, some in run.games(played.verdicts).items() if p.n == plans.SIXTY_CELLS}
    first, second = statements.WINNERS[noise]
    above = comparison.PublishedNumber(value=0.0, where=where, claim=comparison.Claim.ABOVE)
    cells: list[comparison.ComparedNumber] = []
    if run is plans.HUNDRED_UNITS:
        cells += _behind(games, where)
    else:
        cells += [
            statements.lead_claim(
                TPR, games, statements.variant(first, who), statements.variant(second, who), above
            )
            for who in plans.KNOWLEDGES
        ]
    if noise == "laplace":
        cells += statements.more_shadows_claims(TPR, games, "learns the better rule, appendix C and G")
    cells += statements.played_numbers(TPR, noise, games)
    charts = tuple(_chart(f"{name}-{who}", noise, who, games) for who in plans.KNOWLEDGES)
    return paper.ItemResult(tuple(cells), charts, (plans.substitute_note(played.scope),))


def _behind(games: plans.VerdictsByVariant, where: str) -> list[comparison.ComparedNumber]:
    """That a hundred units learn no more than the sum from few shadows."""
    few = comparison.PublishedNumber(value=0.0, where=where, claim=comparison.Claim.AT_MOST)
    return [
        statements.lead_claim(
            TPR,
            games,
            statements.variant(plans.NETWORK, who, shadows=plans.FEW_SHADOWS, hidden=plans.HUNDRED),
            statements.variant("one_threshold", who),
            few,
        )
        for who in plans.KNOWLEDGES
    ]


def _chart(name: str, noise: str, knowledge: str, games: plans.VerdictsByVariant) -> Chart:
    mine = sorted((p for p in games if p.knowledge == knowledge), key=_rank)
    curves = [RocCurve(variant_label(p), *_mean_curve(games[p])) for p in mine]
    best = exact_values.optimum(noise, plans.SIXTY_CELLS).high
    allowed = RocCurve("optimum of the informed", best.fpr.tolist(), best.tpr.tolist())
    at_rare = ", ".join(f"{TPR.of(games[p]).value:.3f} for {variant_label(p)}" for p in mine)
    return roc_chart(
        name,
        curves,
        [allowed],
        log=True,
        caption=f"{noise.capitalize()} noise, {knowledge} attacker, {plans.SIXTY_CELLS} cells: ROC curves.",
        alternative=f"At an FPR of 0.01, the TPRs are {at_rare}.",
    )


def _rank(p: plans.CellAttackVariant) -> tuple[bool, int]:
    """Networks with few shadows keep the order of colours; those with many come after all others."""
    return (p.shadows or 0) > plans.FEW_SHADOWS, ORDER.index(p.attack)


def _mean_curve(verdicts: Sequence[Verdict]) -> tuple[list[float], list[float]]:
    """The curve of one target; of several targets, the mean TPR at equal FPR."""
    if len(verdicts) == 1:
        return verdicts[0].roc["fpr"], verdicts[0].roc["tpr"]
    hits = [np.interp(PLACES, verdict.roc["fpr"], verdict.roc["tpr"]) for verdict in verdicts]
    return PLACES.tolist(), np.mean(hits, axis=0).tolist()


FIGURE_18 = paper.PaperItem(
    title="Figure 18: ROC curves under Laplace noise, 60 cells",
    about="True-positive against false-positive rates, both on logarithmic axes, for networks with few and "
    "with many shadows in one picture. The dashed line is the most that an attacker who knows everybody "
    "else can reach.",
    shared_runs=plans.LARGE["laplace"].runs,
    show=_figure_18,
    notes=(accuracy_by_cells.FEWER_SHADOWS_NOTE,),
)
FIGURE_21 = paper.PaperItem(
    title="Figure 21: ROC curves under Gaussian noise, 60 cells",
    about="The same with Gaussian noise (σ = 8.2543): one_threshold lies on the optimum.",
    shared_runs=plans.LARGE["gaussian"].runs,
    show=_figure_21,
    notes=(accuracy_by_cells.FEWER_SHADOWS_NOTE,),
)
FIGURE_27 = paper.PaperItem(
    title="Figure 27: ROC curves of networks with 100 hidden units, Laplace noise, 60 cells",
    about="Networks of earlier work have 100 hidden units, however many cells there are.",
    shared_runs=plans.HUNDRED_UNITS.runs,
    show=_figure_27,
    notes=(
        (
            "At --scale quick these networks learn from 20,000 shadows instead of 200,000, which is too few "
            "to do better than the sum."
        ),
    ),
)
