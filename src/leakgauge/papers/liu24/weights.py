"""Figures 12, 15 and 23 to 26: what networks have learned, seen in their weights."""

from functools import partial

import numpy as np

from leakgauge.pages.charts import heat_map
from leakgauge.pages.numbers import count
from leakgauge.pages.page import Chart
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.liu24.drawing import ACCURACY, named
from leakgauge.papers.liu24.games import (
    AUXILIARY,
    FEW,
    HUNDRED,
    HUNDRED_UNITS,
    INFORMED,
    LARGE,
    MANY,
    NETWORK,
    Player,
    Series,
    many_shadows,
)
from leakgauge.papers.liu24.networks import Weights, weights_of
from leakgauge.papers.liu24.places import substitute_note
from leakgauge.papers.liu24.setting import SIXTY
from leakgauge.papers.paper import Item, Played, Shown


def _show(number: int, run: Series, knowledge: str, hidden: int | None, many: bool, played: Played) -> Shown:
    shadows = many_shadows("laplace", played.scope.scale, hidden) if many else FEW
    player = Player(attack=NETWORK, knowledge=knowledge, n=SIXTY, shadows=shadows, hidden=hidden)
    weights = weights_of(played.plans, run, player)
    reached = ACCURACY.of(run.games(played.verdicts)[player])
    who = f"{named(player)}, {knowledge}"
    cells = (
        *(_votes(weights, who, enough=shadows == MANY) if many else _sum(weights, who)),
        Cell(setting=f"share of the weights on the diagonal: {who}", ours=exactly(weights.index.diagonal)),
        Cell(setting=f"accuracy, {SIXTY} cells: {who}, played", ours=reached),
    )
    return Shown(cells, (_chart(f"figure-{number}", weights, who),), (substitute_note(played.scope),))


def _sum(weights: Weights, who: str) -> list[Cell]:
    """What speaks for the sum of all cells."""
    index = weights.index
    inner = weights.inner
    return [
        Cell(
            setting=f"correlation of its score with the sum, less that with the votes: {who}",
            ours=exactly(index.one_threshold - index.two_threshold),
            published=Published(value=0.0, where="learns the one-threshold rule", says=Says.ABOVE),
        ),
        Cell(
            setting=f"mean weight over its standard deviation: {who}",
            ours=exactly(float(inner.mean() / inner.std())),
        ),
    ]


def _votes(weights: Weights, who: str, *, enough: bool) -> list[Cell]:
    """What speaks for a vote of every cell; comparable if it learned from as many shadows as in the paper."""
    learns = Published(value=0.0, where="learns the two-threshold rule", says=Says.ABOVE)
    index, own = weights.index, weights.bias[: weights.diagonal.size]
    return [
        Cell(
            setting=f"correlation of its score with the votes, less that with the sum: {who}",
            ours=exactly(index.two_threshold - index.one_threshold),
            published=learns if enough else None,
            why="" if enough else "Of fewer shadows than the paper's; use --scale full.",
        ),
        Cell(
            setting=f"mean weight on the diagonal, in weights beside it: {who}",
            ours=exactly(weights.contrast),
        ),
        Cell(
            setting=f"share of units whose bias opposes their own weight: {who}",
            ours=exactly(float(np.mean(np.sign(own) == -np.sign(weights.diagonal)))),
        ),
    ]


def _chart(name: str, weights: Weights, who: str) -> Chart:
    index = weights.index
    return heat_map(
        name,
        weights.inner.T,
        x_title="cell",
        y_title="hidden unit",
        caption=f"Weights of the first layer: {who}. Units are in the order of the cells they are matched "
        "with, and turned to speak for the target.",
        alternative=f"{index.diagonal:.2f} of the weights, by size, lie on the diagonal; the score "
        f"correlates {index.one_threshold:.2f} with the sum of the cells and {index.two_threshold:.2f} "
        "with their votes.",
        height=460 if weights.inner.shape[1] <= SIXTY else 640,
    )


def _item(number: int, run: Series, knowledge: str, hidden: int | None, *, many: bool) -> Item:
    shadows = "200,000" if many else count(FEW)
    fewer = " At --scale quick it learned from 20,000." if many and hidden else ""
    return Item(
        title=f"Figure {number}: weights of {hidden or SIXTY} units, {knowledge}, {shadows} shadows",
        about=f"The network of an {knowledge} adversary that learned from {shadows} shadows under Laplace "
        f"noise, trained again exactly as it played.{fewer} A network that adds up all cells has weights of "
        "one size everywhere; one that lets each cell vote has a unit for each cell: a diagonal.",
        shares=run.runs,
        show=partial(_show, number, run, knowledge, hidden, many),
    )


FIGURE_12 = _item(12, LARGE["laplace"], INFORMED, None, many=False)
FIGURE_15 = _item(15, LARGE["laplace"], INFORMED, None, many=True)
FIGURE_23 = _item(23, LARGE["laplace"], AUXILIARY, None, many=False)
FIGURE_24 = _item(24, LARGE["laplace"], AUXILIARY, None, many=True)
FIGURE_25 = _item(25, HUNDRED_UNITS, INFORMED, HUNDRED, many=False)
FIGURE_26 = _item(26, HUNDRED_UNITS, INFORMED, HUNDRED, many=True)
