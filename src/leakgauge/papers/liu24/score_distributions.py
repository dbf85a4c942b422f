"""Figures 8 to 10: how both rules score releases of sixty cells, and the effect of the threshold."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.papers import comparison, paper
from leakgauge.papers.liu24 import exact_values
from leakgauge.papers.liu24.figure_7 import CELL, BusyCell
from leakgauge.papers.liu24.plans import AUXILIARY, COLOURS, INFORMED, KNOWLEDGES, SCALE, SIXTY_CELLS
from leakgauge.papers.series_chart import line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.histograms import DensityCurve, HistogramBars, density_chart
from leakgauge.report.charts.roc import RocCurve, roc_chart
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory.threshold_attacks import poisson_binomial

N_DRAWN = 5_000  # releases of each world, as in the paper
SEED = 20240501
ALONE = BusyCell(group=1, people=1, rate=0.0)  # the score of an informed attacker
CELLS = {INFORMED: ALONE, AUXILIARY: CELL}
WORLDS = {
    "without the target": (False, chart_style.SERIES[0]),
    "with the target": (True, chart_style.SERIES[1]),
}


def _normal(places: Reals, mean: float, variance: float) -> Reals:
    return np.exp(-((places - mean) ** 2) / (2 * variance)) / sqrt(2 * np.pi * variance)


@dataclass(frozen=True)
class SumScores:
    """The one-threshold score: the sum of sixty cells."""

    cell: BusyCell

    @property
    def variance(self) -> float:
        """The variances of the counts and of the noise, summed over cells."""
        return SIXTY_CELLS * (self.cell.variance + 2 * SCALE**2)

    def mean(self, *, member: bool) -> float:
        return SIXTY_CELLS * (self.cell.usual + member)

    def drawn(self, *, member: bool) -> Reals:
        """Scores of simulated releases."""
        rng = stream(SEED, Role.RELEASE, int(member))
        visitors = round(self.cell.rate * self.cell.people)
        rest = self.cell.people - visitors
        counts = rng.hypergeometric(visitors, rest, self.cell.group, size=(N_DRAWN, SIXTY_CELLS))
        noise = rng.laplace(scale=SCALE, size=(N_DRAWN, SIXTY_CELLS))
        return np.asarray((counts + member + noise).sum(axis=1))


def _figure_8(_: paper.PlayedItem) -> paper.ItemResult:
    return paper.ItemResult(tuple(_sum_cells()), tuple(_sum_chart(knowledge) for knowledge in KNOWLEDGES))


def _sum_cells() -> list[comparison.ComparedNumber]:
    informed_sum, other = (SumScores(CELLS[knowledge]) for knowledge in KNOWLEDGES)
    printed = SIXTY_CELLS * (sqrt(CELL.variance) + SCALE * sqrt(2))
    return [
        comparison.ComparedNumber(
            setting="standard deviation of the score, auxiliary minus informed",
            ours=comparison.exact_number(sqrt(other.variance) - sqrt(informed_sum.variance)),
            drawn=True,
            why="Counts that vary can only add variance, so “larger variance” is not judged.",
        ),
        comparison.ComparedNumber(
            setting="standard deviation of the score, auxiliary",
            ours=comparison.exact_number(sqrt(other.variance)),
            published=comparison.PublishedNumber(value=printed, where="formula, theorem 2"),
            why="Theorem 2 adds the standard deviations of cells, counts and noise; variances add up.",
        ),
        *(
            comparison.ComparedNumber(
                setting=f"largest gap between drawn scores and the normal distribution, {knowledge}",
                ours=comparison.exact_number(_gap(SumScores(CELLS[knowledge]))),
                why=f"By chance it exceeds {1.95 / sqrt(N_DRAWN):.4f} once in a thousand times.",
            )
            for knowledge in KNOWLEDGES
        ),
    ]


def _gap(sums: SumScores) -> float:
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
    sums = SumScores(CELLS[knowledge])
    spread = sqrt(sums.variance)
    start, end = sums.mean(member=False) - 3.5 * spread, sums.mean(member=True) + 3.5 * spread
    edges, places = np.linspace(start, end, 51), np.linspace(start, end, 161)
    bars, laws = [], []
    for world, (member, colour) in WORLDS.items():
        heights, _ = np.histogram(sums.drawn(member=member), edges)
        bars.append(HistogramBars(f"drawn, {world}", edges, heights / N_DRAWN / np.diff(edges), colour))
        law = _normal(places, sums.mean(member=member), sums.variance)
        laws.append(DensityCurve(f"normal, {world}", places, law, Stroke.LINE, colour))
    return density_chart(
        f"figure-8-{knowledge}",
        bars,
        laws,
        x_title="sum of the cells",
        y_title="density",
        caption=f"one_threshold, {knowledge} attacker: {N_DRAWN} releases of each world.",
        alternative=f"Two bell curves {SIXTY_CELLS} apart, {spread:.0f} wide, over histograms that follow "
        "them.",
    )


def _figure_10(_: paper.PlayedItem) -> paper.ItemResult:
    alarm, hit = CELL.vote_chances
    printed = 1 + CELL.group * SIXTY_CELLS * CELL.rate
    cells = (
        comparison.ComparedNumber(
            setting=f"expected votes of {SIXTY_CELLS} with the target, auxiliary",
            ours=comparison.exact_number(SIXTY_CELLS * hit),
            published=comparison.PublishedNumber(value=printed, where="formula, section 3.3"),
            why="The printed distribution is that of the sum of the cells; sixty cells have at most sixty "
            "votes.",
        ),
        comparison.ComparedNumber(
            setting="chance of a vote, target in minus out, informed minus auxiliary",
            ours=comparison.exact_number(1 - 2 * exact_values.cell_error("laplace") - (hit - alarm)),
            drawn=True,
            why="Counts that vary can only hide a vote, so “less distinguishability” is not judged.",
        ),
        comparison.ComparedNumber(
            setting="α′, a vote without the target, auxiliary", ours=comparison.exact_number(alarm)
        ),
        comparison.ComparedNumber(
            setting="1 - β′, a vote with the target, auxiliary", ours=comparison.exact_number(hit)
        ),
    )
    return paper.ItemResult(cells, tuple(_vote_chart(knowledge) for knowledge in KNOWLEDGES))


def _vote_chart(knowledge: str) -> Chart:
    error = exact_values.cell_error("laplace")
    chances = (error, 1 - error) if knowledge == INFORMED else CELL.vote_chances
    edges, places = np.arange(SIXTY_CELLS + 2, dtype=np.float64) - 0.5, np.linspace(0, SIXTY_CELLS, 181)
    bars, laws = [], []
    for (world, (_, colour)), chance in zip(WORLDS.items(), chances, strict=True):
        bars.append(HistogramBars(f"exact, {world}", edges, poisson_binomial([chance] * SIXTY_CELLS), colour))
        law = _normal(places, SIXTY_CELLS * chance, SIXTY_CELLS * chance * (1 - chance))
        laws.append(DensityCurve(f"normal, {world}", places, law, Stroke.LINE, colour))
    return density_chart(
        f"figure-10-{knowledge}",
        bars,
        laws,
        x_title="votes",
        y_title="probability",
        caption=f"two_threshold, {knowledge} attacker: the number of votes of {SIXTY_CELLS} cells.",
        alternative=f"Two binomial distributions around {SIXTY_CELLS * chances[0]:.1f} and "
        f"{SIXTY_CELLS * chances[1]:.1f} votes.",
    )


FIGURE_8 = paper.PaperItem(
    title="Figure 8: scores of the one-threshold attack",
    about="The sum of sixty cells like that of figure 7, drawn 5,000 times for each world, over the normal "
    "distribution of the corrected theorem 2.",
    show=_figure_8,
)
FIGURE_10 = paper.PaperItem(
    title="Figure 10: scores of the two-threshold attack",
    about="The number of votes of sixty cells, each with the threshold midway between its two means: "
    "binomial distributions, exact, and the normal distributions of the same mean and variance.",
    show=_figure_10,
    notes=("For auxiliary attackers section 3.3 prints mean and variance of the sum, not of the votes.",),
)


def _figure_9(_: paper.PlayedItem) -> paper.ItemResult:
    thresholds = np.arange(-70.0, 130.01, 0.5)
    tpr, fpr = (exact_values.sum_above(SIXTY_CELLS, thresholds, member=member) for member in (True, False))
    accuracy = (1 + tpr - fpr) / 2
    best = float(thresholds[np.argmax(accuracy)])
    middle = int(np.flatnonzero(thresholds == SIXTY_CELLS / 2)[0])
    cells = (
        comparison.ComparedNumber(
            setting="threshold of the highest accuracy",
            ours=comparison.exact_number(best),
            exact=SIXTY_CELLS / 2,
            drawn=True,
            why="True by construction, so “the intersection point” (section 3.2) is not judged: with and "
            "without the target the sums have the same symmetric distribution, moved by sixty.",
        ),
        comparison.ComparedNumber(
            setting="FPR at a threshold of 35 minus FPR at 30",
            ours=comparison.exact_number(float(fpr[middle + 10] - fpr[middle])),
            published=comparison.PublishedNumber(
                value=0.0, where="“a larger T … a larger FPR”, section 3.2", claim=comparison.Claim.ABOVE
            ),
            why="The opposite is true: fewer releases lie above a larger threshold.",
        ),
        comparison.ComparedNumber(
            setting="accuracy at the best threshold",
            ours=comparison.exact_number(float(accuracy.max())),
            exact=float(exact_values.accuracy("laplace", "one_threshold", np.array([float(SIXTY_CELLS)]))[0]),
            drawn=True,
        ),
    )
    chart = series_chart(
        "figure-9-accuracy",
        [
            line_series("accuracy", thresholds, accuracy, Stroke.LINE, COLOURS["one_threshold"]),
            line_series("TPR", thresholds, tpr, Stroke.DASHED, chart_style.SERIES[1]),
            line_series("FPR", thresholds, fpr, Stroke.DOTTED, chart_style.SERIES[3]),
        ],
        x_title="threshold on the sum",
        y_title="rate",
        caption=f"one_threshold, informed attacker, {SIXTY_CELLS} cells: the effect of the threshold.",
        alternative=f"Accuracy is highest at {best:g}, midway between both worlds; both rates fall as the "
        "threshold rises.",
    )
    return paper.ItemResult(cells, (chart, _roc(fpr[::-1], tpr[::-1])))


def _roc(fpr: Reals, tpr: Reals) -> Chart:
    optimum = exact_values.optimum("laplace", SIXTY_CELLS).high
    error = exact_values.cell_error("laplace")
    votes = [np.cumsum(poisson_binomial([chance] * SIXTY_CELLS)[::-1]) for chance in (error, 1 - error)]
    return roc_chart(
        "figure-9-roc",
        [
            RocCurve("one_threshold", [0.0, *fpr.tolist(), 1.0], [0.0, *tpr.tolist(), 1.0]),
            RocCurve("two_threshold", [0.0, *votes[0].tolist()], [0.0, *votes[1].tolist()]),
        ],
        [RocCurve("optimum", optimum.fpr.tolist(), optimum.tpr.tolist())],
        log=False,
        caption=f"The same as a ROC curve: informed attacker, {SIXTY_CELLS} cells, exact.",
        alternative="two_threshold lies above one_threshold, the optimum just above both.",
    )


FIGURE_9 = paper.PaperItem(
    title="Figure 9: the effect of the threshold",
    about="The one-threshold attack of an informed attacker on sixty cells: accuracy, TPR and FPR at every "
    "threshold, and the ROC curve they trace. All exact; two_threshold and the optimum are added.",
    show=_figure_9,
)
