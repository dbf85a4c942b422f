"""Figures 8 and 10: how both rules score releases of sixty cells, with and without the target."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.pages.charts import Bars, Density, density_chart, paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.liu24 import informed
from leakgauge.papers.liu24.busy_cell import BusyCell
from leakgauge.papers.liu24.games import AUXILIARY, INFORMED, KNOWLEDGES
from leakgauge.papers.liu24.one_cell import CELL
from leakgauge.papers.liu24.setting import SCALE, SIXTY
from leakgauge.papers.paper import Item, Played, Shown
from leakgauge.theory.votes import number_of_votes

N_DRAWN = 5_000  # releases of each world, as in the paper
SEED = 20240501
ALONE = BusyCell(group=1, people=1, rate=0.0)  # what an informed adversary has before it
CELLS = {INFORMED: ALONE, AUXILIARY: CELL}
WORLDS = {"without the target": (False, paint.SERIES[0]), "with the target": (True, paint.SERIES[1])}


def _normal(places: Reals, mean: float, variance: float) -> Reals:
    return np.exp(-((places - mean) ** 2) / (2 * variance)) / sqrt(2 * np.pi * variance)


@dataclass(frozen=True)
class Sums:
    """The one-threshold score: the sum of sixty cells."""

    cell: BusyCell

    @property
    def variance(self) -> float:
        """Of the counts and of the noise, cells added up."""
        return SIXTY * (self.cell.variance + 2 * SCALE**2)

    def mean(self, *, member: bool) -> float:
        return SIXTY * (self.cell.usual + member)

    def drawn(self, *, member: bool) -> Reals:
        """Scores of releases that were drawn."""
        rng = stream(SEED, Role.RELEASE, int(member))
        visitors = round(self.cell.rate * self.cell.people)
        rest = self.cell.people - visitors
        counts = rng.hypergeometric(visitors, rest, self.cell.group, size=(N_DRAWN, SIXTY))
        noise = rng.laplace(scale=SCALE, size=(N_DRAWN, SIXTY))
        return np.asarray((counts + member + noise).sum(axis=1))


def _figure_8(_: Played) -> Shown:
    return Shown(tuple(_sum_cells()), tuple(_sum_chart(knowledge) for knowledge in KNOWLEDGES))


def _sum_cells() -> list[Cell]:
    wider = Published(value=0.0, where="“larger variance”, section 3.2", says=Says.ABOVE)
    informed_sum, other = (Sums(CELLS[knowledge]) for knowledge in KNOWLEDGES)
    printed = SIXTY * (sqrt(CELL.variance) + SCALE * sqrt(2))
    return [
        Cell(
            setting="standard deviation of the score, auxiliary less informed",
            ours=exactly(sqrt(other.variance) - sqrt(informed_sum.variance)),
            published=wider,
        ),
        Cell(
            setting="standard deviation of the score, auxiliary",
            ours=exactly(sqrt(other.variance)),
            published=Published(value=printed, where="formula, theorem 2"),
            why="Theorem 2 adds the standard deviations of cells, counts and noise; variances add up.",
        ),
        *(
            Cell(
                setting=f"largest gap between drawn scores and the normal law, {knowledge}",
                ours=exactly(_gap(Sums(CELLS[knowledge]))),
                why=f"By chance alone it exceeds {1.95 / sqrt(N_DRAWN):.4f} once in a thousand times.",
            )
            for knowledge in KNOWLEDGES
        ),
    ]


def _gap(sums: Sums) -> float:
    """Kolmogorov's distance, the larger one of both worlds."""
    from scipy.special import ndtr

    gaps = []
    for member in (False, True):
        scores = np.sort(sums.drawn(member=member))
        law = ndtr((scores - sums.mean(member=member)) / sqrt(sums.variance))
        steps = np.arange(N_DRAWN + 1) / N_DRAWN
        gaps.append(max(np.abs(law - steps[1:]).max(), np.abs(law - steps[:-1]).max()))
    return float(max(gaps))


def _sum_chart(knowledge: str) -> Chart:
    sums = Sums(CELLS[knowledge])
    spread = sqrt(sums.variance)
    start, end = sums.mean(member=False) - 3.5 * spread, sums.mean(member=True) + 3.5 * spread
    edges, places = np.linspace(start, end, 51), np.linspace(start, end, 161)
    bars, laws = [], []
    for world, (member, colour) in WORLDS.items():
        heights, _ = np.histogram(sums.drawn(member=member), edges)
        bars.append(Bars(f"drawn, {world}", edges, heights / N_DRAWN / np.diff(edges), colour))
        law = _normal(places, sums.mean(member=member), sums.variance)
        laws.append(Density(f"normal, {world}", places, law, Stroke.LINE, colour))
    return density_chart(
        f"figure-8-{knowledge}",
        bars,
        laws,
        x_title="sum of the cells",
        y_title="density",
        caption=f"one_threshold, {knowledge} adversary: {N_DRAWN} releases of each world.",
        alternative=f"Two bell curves {SIXTY} apart, {spread:.0f} wide, over histograms that follow them.",
    )


def _figure_10(_: Played) -> Shown:
    alarm, hit = CELL.vote_chances
    printed = 1 + CELL.group * SIXTY * CELL.rate
    cells = (
        Cell(
            setting=f"usual votes of {SIXTY} with the target, auxiliary",
            ours=exactly(SIXTY * hit),
            published=Published(value=printed, where="formula, section 3.3"),
            why="The printed law is that of the sum of the cells; of sixty votes there are at most sixty.",
        ),
        Cell(
            setting="chance of a vote, target in less out, informed less auxiliary",
            ours=exactly(1 - 2 * informed.cell_error("laplace") - (hit - alarm)),
            published=Published(value=0.0, where="“less distinguishability”, section 3.2", says=Says.ABOVE),
        ),
        Cell(setting="α′, a vote without the target, auxiliary", ours=exactly(alarm)),
        Cell(setting="1 - β′, a vote with the target, auxiliary", ours=exactly(hit)),
    )
    return Shown(cells, tuple(_vote_chart(knowledge) for knowledge in KNOWLEDGES))


def _vote_chart(knowledge: str) -> Chart:
    error = informed.cell_error("laplace")
    chances = (error, 1 - error) if knowledge == INFORMED else CELL.vote_chances
    edges, places = np.arange(SIXTY + 2, dtype=np.float64) - 0.5, np.linspace(0, SIXTY, 181)
    bars, laws = [], []
    for (world, (_, colour)), chance in zip(WORLDS.items(), chances, strict=True):
        bars.append(Bars(f"exact, {world}", edges, number_of_votes([chance] * SIXTY), colour))
        law = _normal(places, SIXTY * chance, SIXTY * chance * (1 - chance))
        laws.append(Density(f"normal, {world}", places, law, Stroke.LINE, colour))
    return density_chart(
        f"figure-10-{knowledge}",
        bars,
        laws,
        x_title="votes",
        y_title="probability",
        caption=f"two_threshold, {knowledge} adversary: the number of votes of {SIXTY} cells.",
        alternative=f"Two binomial laws around {SIXTY * chances[0]:.1f} and {SIXTY * chances[1]:.1f} votes.",
    )


FIGURE_8 = Item(
    title="Figure 8: scores of the one-threshold attack",
    about="The sum of sixty cells like that of figure 7, drawn 5,000 times for each world, over the "
    "normal law that theorem 2 stands for when it is put right.",
    show=_figure_8,
)
FIGURE_10 = Item(
    title="Figure 10: scores of the two-threshold attack",
    about="How many of sixty cells vote, each cut midway between its two means: binomial laws, exact, and "
    "the normal laws of the same mean and variance.",
    show=_figure_10,
    notes=("For auxiliary adversaries section 3.3 prints mean and variance of the sum, not of the votes.",),
)
