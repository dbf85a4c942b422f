"""Figures 1, 13, 14 and 19: accuracy against the number of cells."""

import numpy as np

from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.liu24 import informed
from leakgauge.papers.liu24.drawing import ACCURACY, panel
from leakgauge.papers.liu24.games import HUNDRED, INFORMED, KNOWLEDGES, LARGE, USUAL, Games
from leakgauge.papers.liu24.places import place_note, substitute_note
from leakgauge.papers.liu24.statements import (
    catching_up,
    growth,
    knowing_more,
    learning_more,
    one_against_network,
    played_by,
    winners,
)
from leakgauge.papers.measured import difference
from leakgauge.papers.paper import Item, Played, Shown

SECTION = "section 5.3.1"
SMALLER = (
    "At --scale quick networks learn from many shadows at few numbers of cells, for one target, and under "
    "Gaussian noise from 20,000; --scale full plays them all, with ten targets."
)
THRESHOLDS = (
    "one_threshold and two_threshold take their thresholds from the law of the noise and the rates of the "
    "adversary's people, so they need no shadows; reference uses 2,000."
)


def _figure_1(played: Played) -> Shown:
    found = USUAL["laplace"].games(played.verdicts)
    networks = {p: verdicts for p, verdicts in found.items() if p.hidden == HUNDRED}
    chart = panel("figure-1", ACCURACY, "laplace", INFORMED, networks, bound=True)
    return Shown(tuple(_gaps(networks)), (chart,), (substitute_note(played.scope),))


def _gaps(networks: Games) -> list[Cell]:
    """How far a network stays behind what is possible."""
    cells = []
    for p, verdicts in networks.items():
        reached, n = ACCURACY.of(verdicts), np.array([float(p.n)])
        limits = {
            "bound for any mechanism": float(informed.any_mechanism("laplace", n)[0]),
            "optimum against this noise": float(informed.accuracy("laplace", "likelihood", n)[0]),
        }
        gap = Published(value=0.0, where="“a significant gap”, section 1", says=Says.ABOVE)
        for (limit, most), said in zip(limits.items(), (gap, None), strict=True):
            cells.append(
                Cell(
                    setting=f"{limit} less network of {HUNDRED} units, {p.n} cells",
                    ours=difference(exactly(most), reached),
                    published=said,
                )
            )
    return cells


def _figure_13(played: Played) -> Shown:
    found = without_hundred(USUAL["laplace"].games(played.verdicts))
    cells = (
        *growth(ACCURACY, found, SECTION),
        *knowing_more(ACCURACY, found, SECTION),
        *winners(ACCURACY, "laplace", found, f"“a great advantage”, {SECTION}"),
        *one_against_network(ACCURACY, found, f"“around 1 % to 2 %”, {SECTION}"),
        *played_by(ACCURACY, "laplace", found),
    )
    charts = tuple(panel(f"figure-13-{who}", ACCURACY, "laplace", who, found) for who in KNOWLEDGES)
    return Shown(cells, charts, (place_note(played.scope),))


def _figure_14(played: Played) -> Shown:
    found = LARGE["laplace"].games(played.verdicts)
    cells = (
        *learning_more(ACCURACY, found, "“boosts”, section 5.3.2"),
        *catching_up(ACCURACY, found, "two_threshold", "“the same level”, section 5.3.2"),
        *played_by(ACCURACY, "laplace", found),
    )
    charts = tuple(panel(f"figure-14-{who}", ACCURACY, "laplace", who, found) for who in KNOWLEDGES)
    return Shown(cells, charts, (substitute_note(played.scope),))


def _figure_19(played: Played) -> Shown:
    found = USUAL["gaussian"].games(played.verdicts)
    large = LARGE["gaussian"].games(played.verdicts)
    cells = (
        *winners(ACCURACY, "gaussian", found, "“a clear advantage”, appendix D"),
        *catching_up(ACCURACY, large, "one_threshold", "“easier to achieve the optimal”, appendix D"),
        *played_by(ACCURACY, "gaussian", found),
        *played_by(ACCURACY, "gaussian", large, only_networks=True),
    )
    charts = tuple(
        panel(f"figure-19-{who}", ACCURACY, "gaussian", who, {**found, **networks_of(large)})
        for who in KNOWLEDGES
    )
    return Shown(cells, charts, (substitute_note(played.scope),))


def without_hundred(found: Games) -> Games:
    """All but the networks of figure 1."""
    return {p: verdicts for p, verdicts in found.items() if p.hidden is None}


def networks_of(large: Games) -> Games:
    """The networks that learned from more shadows than those of the usual games."""
    most = max(p.shadows or 0 for p in large)
    return {p: verdicts for p, verdicts in large.items() if p.shadows == most}


FIGURE_1 = Item(
    title="Figure 1: what theory expects, and what a network of earlier work reaches",
    about="An informed adversary trains the network of earlier work, one hidden layer of 100 units, on 2,000 "
    "shadows of its own. The paper sets its accuracy beside what any mechanism of the same promise could "
    "reveal in so many cells (Kairouz, Oh and Viswanath 2015). We add the best attack on the noise that "
    "is really used, and the two simple rules.",
    shares=USUAL["laplace"].runs,
    show=_figure_1,
    notes=(
        (
            "Part of the gap is the bound's: Laplace noise is not the worst mechanism of its promise. At 60 "
            "cells the bound is 0.9725, and the best attack on Laplace noise reaches 0.9639."
        ),
        "The paper does not say how many shadows this network saw; we give it 2,000.",
    ),
)
FIGURE_13 = Item(
    title="Figure 13: accuracy under Laplace noise, networks with 2,000 shadows",
    about="In every round a group of 1,999 people is drawn anew, and the target is added or not; each count "
    "gets Laplace noise of ε = 0.5. The informed adversary knows everybody but the target, the auxiliary one "
    "has the traces of other people. Networks have as many hidden units as there are cells. The likelihood "
    "attack and the optimum are ours.",
    shares=USUAL["laplace"].runs,
    show=_figure_13,
    notes=(
        THRESHOLDS,
        (
            "Neither rule is the best attack: for both adversaries the likelihood attack is ahead of them, "
            "and needs no shadows."
        ),
    ),
)
FIGURE_14 = Item(
    title="Figure 14: accuracy under Laplace noise, networks with 200,000 shadows",
    about="The same game; now networks learn from a hundred times as many shadows.",
    shares=LARGE["laplace"].runs,
    show=_figure_14,
    notes=(SMALLER,),
)
FIGURE_19 = Item(
    title="Figure 19: accuracy under Gaussian noise",
    about="The same game with Gaussian noise, ε = 0.5 and δ = 1/3998 per cell in the classic calibration "
    "(σ = 8.2543), networks with few and many shadows in one picture. No attack beats the sum of the cells "
    "here.",
    shares=(*USUAL["gaussian"].runs, *LARGE["gaussian"].runs),
    show=_figure_19,
    notes=(THRESHOLDS, SMALLER),
)
