"""Figures 7 and 12: certificates of success over nominal epsilons, beside the games that were played."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, exactly
from leakgauge.papers.nguyen23.certified_charts import panel_charts
from leakgauge.papers.nguyen23.columns import COLUMNS, Column, Form, data_note
from leakgauge.papers.nguyen23.games import BITRAND, OME, Games, Point, Series
from leakgauge.papers.nguyen23.proofs import Found, Proof, average, prove
from leakgauge.papers.nguyen23.servers import stage
from leakgauge.papers.nguyen23.setting import LIKELIHOOD
from leakgauge.papers.nguyen23.statements import judged
from leakgauge.papers.nguyen23.success import said
from leakgauge.papers.paper import Item, Played, Scale, Scope, Shown

TARGETS = {Scale.QUICK: 2, Scale.FULL: 10}
RANGE = (
    "Hoeffding's inequality needs a range that is known before the draws, {wide:.0f} times the observed one "
    "here. By the observed range, which proves nothing, {share:.0%} of targets would count as certified."
)


def _show(series: Series, played: Played) -> Shown:
    scope = played.scope
    games = series.games(scope.scale, played.verdicts)
    found: dict[Point, list[Proof]] = {}
    for point in games:
        staged = stage(played.plans.values(), point.name(series.mechanism))
        rng = staged.rng()
        server, crafted = staged.craft(TARGETS[scope.scale])
        found[point] = [prove(server, one, place, rng) for place, one in enumerate(crafted)]
    cells = [cell for point in found for cell in _cells(series, scope, point, found[point], games)]
    panels = [(column, form) for column in COLUMNS for form in Form]
    cells += [cell for panel in panels for cell in _smallest(scope, panel, found)]
    charts = [chart for panel in panels for chart in panel_charts(series, scope, panel, found, games)]
    return Shown(tuple(cells), tuple(charts), (data_note(scope),))


def _share(proofs: Sequence[Proof], of: Callable[[Proof], bool]) -> float:
    return float(np.mean([of(proof) for proof in proofs]))


def _cells(series: Series, scope: Scope, point: Point, proofs: Sequence[Proof], games: Games) -> list[Cell]:
    here = said(scope, point)
    first = 2 if series is BITRAND else 1
    claim = "“given ε > 1”, section 5" if series is BITRAND else "“given ε ≥ 1”, appendix D"
    stated = Published(value=1.0, where=f"δ = 1e-8, {claim}") if point.epsilon >= first else None
    wide = float(np.median([proof.valid.own.width / proof.as_observed.own.width for proof in proofs]))
    why = RANGE.format(wide=wide, share=_share(proofs, lambda proof: proof.as_observed.holds))
    won = measured.accuracy(games[point][LIKELIHOOD])
    errors = [proof.valid.smallest_error for proof in proofs]
    least = "no δ" if None in errors else f"δ = {max(error for error in errors if error is not None):.1e}"
    return [
        judged(
            f"share of targets for which theorem 1 applies: {here}",
            exactly(_share(proofs, lambda proof: proof.valid.holds)),
            stated,
            f"{why} The smallest that would do for all of them: {least}.",
        ),
        Cell(
            setting=f"certified success: {here}",
            ours=exactly(average(proofs, lambda one: one.success)),
            why=f"By rates of activation: TPR at least {average(proofs, lambda one: one.tpr):.3f}, FPR of a "
            f"row at most {average(proofs, lambda one: one.fpr):.4f} (Clopper and Pearson, δ = 1e-8 each); "
            f"by Hoeffding's bounds {average(proofs, lambda one: one.hoeffding_success):.3f}. Measured "
            f"over all targets: {won.value:.3f}.",
        ),
    ]


def _smallest(scope: Scope, panel: tuple[Column, Form], found: Found) -> list[Cell]:
    """Corollary 1: the smallest epsilon for which theorem 1 applies to all targets."""
    column, form = panel
    epsilons = [
        point.epsilon
        for point, proofs in found.items()
        if (point.column, point.form) == panel and all(proof.valid.holds for proof in proofs)
    ]
    if not epsilons:
        return []
    return [
        Cell(
            setting=f"smallest nominal ε at which all targets are certified: {column.words(scope, form)}",
            ours=exactly(min(epsilons)),
            why="Of the nominal ε that were looked at.",
        )
    ]


def _item(series: Series, title: str, about: str) -> Item:
    return Item(title=title, about=about, shares=(series.run,), show=partial(_show, series), notes=NOTES)


NOTES = (
    (
        "Theorem 1 says that the neuron's mean value is above zero at the target, and not at others. It does "
        "not follow that the attack wins: what counts is how often the value is above zero, and over a "
        "whole batch of others. That is what certified success is about."
    ),
    (
        "About others a certificate holds over the noise on the adversary's rows. It carries over to clients "
        "as far as their rows are like them."
    ),
    (
        "How much can be certified is limited by the draws: with q of them and no false alarm the FPR of a "
        "row is below 18.4 / q, and a batch of 100 multiplies that."
    ),
)
FIGURE_7 = _item(
    BITRAND,
    "Figure 7: certified success under BitRand",
    "4,000 perturbations of the target and at least 12,000 perturbed rows of the adversary's, with "
    "Hoeffding's bounds on the mean value of the likelihood neuron and bounds on how often it is active; "
    "δ = 1e-8 each.",
)
FIGURE_12 = _item(OME, "Figure 12: certified success under OME", "The same under OME.")
