"""Figure 7: what is published of a cell that others visit too, and what sixty such cells are worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.papers import metric_intervals
from leakgauge.papers.comparison import Claim, ComparedNumber, PublishedNumber, exact_number
from leakgauge.papers.liu24.plans import AUXILIARY, CONFIDENCE, INFORMED, MECHANISMS, SCALE, SIXTY_CELLS
from leakgauge.papers.paper import AuditTable, ItemResult, PaperItem, PlayedItem, Scale, Scope
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.histograms import DensityCurve, density_chart
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory import threshold_attacks
from leakgauge.theory.asymmetric_composition import DistributionPair, best_attack
from leakgauge.theory.loss_composition import BestAttack
from leakgauge.verdict import Verdict

_RARE = 1e-18  # counts less likely than this are left out
_REACH = 60  # beyond all counts, in cells: noise as large occurs once in e^30
_FINE = 16  # outputs per count that the best attack tells apart


@dataclass(frozen=True)
class BusyCell:
    """A group of so many, drawn from so many people, of whom this share visits each of the cells."""

    group: int
    people: int
    rate: float

    @property
    def usual(self) -> float:
        """How many of the others are usually in a cell."""
        return self.group * self.rate

    @cached_property
    def law(self) -> Reals:
        """How likely 0, 1, ... of the others are in a cell."""
        law = threshold_attacks.count_law(self.group, self.rate, self.people)
        return law[: int(np.flatnonzero(law > _RARE)[-1]) + 1]

    @property
    def variance(self) -> float:
        """Of the count of the others in a cell."""
        return threshold_attacks.group_variance(self.group, self.rate * (1 - self.rate), self.people)

    @cached_property
    def vote_chances(self) -> tuple[float, float]:
        """How likely a cell votes, cut midway: without the target, and with it."""
        return threshold_attacks.vote_chances(self.law, noise_at_least)

    def density(self, places: Reals, *, member: bool) -> Reals:
        """The density of what is published of one cell."""
        counts = np.arange(self.law.size) + member
        return np.exp(-np.abs(places[:, None] - counts) / SCALE) / (2 * SCALE) @ self.law

    def one_threshold(self, n: int) -> float:
        """Accuracy of the sum of n cells, cut midway between its two means; no normal approximation."""
        total = _power(self.law, n)
        likely = np.flatnonzero(total > 1e-12)
        beyond: Reals = (n * self.usual + n / 2 - likely.astype(np.float64)) / SCALE
        return float(1 - _sum_errors(beyond, n) @ total[likely])

    def two_threshold(self, n: int) -> float:
        """Accuracy of the votes of n cells; the votes needed lie midway between their usual numbers."""
        alarm, hit = self.vote_chances
        return float(threshold_attacks.vote_accuracy([alarm] * n, [hit] * n))

    def optimum(self, n: int) -> BestAttack:
        """The best attack on n cells; outputs of a sixteenth of a count are taken together."""
        return _optimum(self, n)

    @cached_property
    def pair(self) -> DistributionPair:
        """One cell in both worlds."""
        low, high = int(np.flatnonzero(self.law > _RARE)[0]), self.law.size - 1
        inner = np.arange((low - _REACH) * _FINE, (high + _REACH + 1) * _FINE + 1) / _FINE
        edges = np.concatenate([[-np.inf], inner, [np.inf]])
        above = noise_at_least(edges - np.arange(low, high + 2)[:, None])
        given_count = above[:, :-1] - above[:, 1:]
        likely = self.law[low:]
        return DistributionPair.of(likely @ given_count[1:], likely @ given_count[:-1])


def noise_at_least(x: Reals) -> Reals:
    """Chance that the Laplace noise of a cell is at least so large."""
    tail = np.exp(-np.abs(x) / SCALE) / 2
    return np.where(x > 0, tail, 1 - tail)


@lru_cache(maxsize=64)
def _optimum(cell: BusyCell, n: int) -> BestAttack:
    return best_attack([(cell.pair, n)])


def _sum_errors(beyond: Reals, n: int) -> Reals:
    """The mean of both worlds' chances of error, where the counts leave so much of the cut to the noise.

    Without the target noise beyond it is an error; with it, n / scale nearer, noise that stays below.
    """
    alarms = _sum_at_least(beyond, n)
    misses = 1 - _sum_at_least(beyond - n / SCALE, n)
    return (alarms + misses) / 2


def _sum_at_least(x: Reals, n: int) -> Reals:
    tails = np.array([threshold_attacks.laplace_sum_above(abs(float(each)), n) for each in x])
    return np.where(x > 0, tails, 1 - tails)


def _power(law: Reals, n: int) -> Reals:
    """The law of the sum of n independent counts."""
    size = n * (law.size - 1) + 1
    return np.maximum(np.fft.irfft(np.fft.rfft(law, size) ** n, size), 0.0)


CELL = BusyCell(group=2_000, people=10_000, rate=0.01)
ROUNDS = {Scale.QUICK: 20_000, Scale.FULL: 200_000}


def uniform_city(cell: BusyCell) -> dict[str, Any]:
    """Return the data of a plan: everybody visits sixty random cells, and so do as many other people.

    Epochs are weeks, so that none is busier than another.
    """
    n_cells = round(SIXTY_CELLS / cell.rate)
    return {
        "source": "synthetic",
        "users": 2 * cell.people + 1,
        "sites": SIXTY_CELLS,
        "epochs": round(n_cells / SIXTY_CELLS),
        "epoch": "7d",
        "visits": SIXTY_CELLS,
        "skew": 0,
        "popularity": 0,
        "home": 0,
        "radius": 1e9,
    }


def cell_audit_table(name: str, scope: Scope, cell: BusyCell) -> AuditTable:
    """Return the audit of a cell; the attacker has data of as many other people."""
    return {
        "name": name,
        "domain": "locations",
        "rounds": ROUNDS[scope.scale],
        "block": 2000,
        "data": uniform_city(cell),
        "challenger": {
            "group_size": cell.group + 1,
            "reference": cell.people + 1,
            "targets": {"n": 1, "min_visits": SIXTY_CELLS},
        },
        "mechanism": MECHANISMS["laplace"],
        "metrics": {"confidence": CONFIDENCE},
        "attacks": [
            {"name": attack, "knowledge": "auxiliary"}
            for attack in ("one_threshold", "two_threshold", "likelihood")
        ],
    }


def _audits(scope: Scope) -> list[AuditTable]:
    return [cell_audit_table("cell", scope, CELL)]


def exact_accuracies(cell: BusyCell) -> dict[str, float]:
    """What each attack reaches with sixty independent cells, if the adversary knows the cell."""
    return {
        "one_threshold": cell.one_threshold(SIXTY_CELLS),
        "two_threshold": cell.two_threshold(SIXTY_CELLS),
        "likelihood": float(cell.optimum(SIXTY_CELLS).accuracy[0]),
    }


def _figure_7(played: PlayedItem) -> ItemResult:
    cells = (*_spreads(), *_accuracies(), *_played(played.verdicts))
    return ItemResult(cells, tuple(_chart(knowledge) for knowledge in (INFORMED, AUXILIARY)))


def _spreads() -> list[ComparedNumber]:
    noise = 2 * SCALE**2
    return [
        ComparedNumber(
            setting="standard deviation of the cell, auxiliary less informed",
            ours=exact_number(float(np.sqrt(CELL.variance + noise) - np.sqrt(noise))),
            published=PublishedNumber(
                value=0.0, where="“provides obfuscation”, section 3.2", claim=Claim.ABOVE
            ),
        ),
        ComparedNumber(setting="usual number of others in the cell", ours=exact_number(CELL.usual)),
    ]


def _accuracies() -> list[ComparedNumber]:
    found = exact_accuracies(CELL)
    return [
        *(
            ComparedNumber(setting=f"{attack}, {SIXTY_CELLS} such cells", ours=exact_number(value))
            for attack, value in found.items()
        ),
        ComparedNumber(
            setting=f"two_threshold less one_threshold, {SIXTY_CELLS} such cells",
            ours=exact_number(found["two_threshold"] - found["one_threshold"]),
            published=PublishedNumber(
                value=0.0, where="“for both types of attackers”, section 5.3.1", claim=Claim.ABOVE
            ),
            why="With twenty others in a cell the votes lose; they win below about two (see the crossover).",
        ),
    ]


def _played(verdicts: Sequence[Verdict]) -> list[ComparedNumber]:
    """At the best threshold, as the exact values are, and at the adversary's own."""
    known = exact_accuracies(CELL)
    cells = []
    for verdict in verdicts:
        cells += [
            ComparedNumber(
                setting=f"{verdict.attack}, played, at the best threshold",
                ours=metric_intervals.metric(verdict, "accuracy"),
                exact=known[verdict.attack],
            ),
            ComparedNumber(
                setting=f"{verdict.attack}, played, at its own threshold",
                ours=metric_intervals.accuracy(verdict),
                why="The adversary's people are others than those the group is drawn from.",
            ),
        ]
    return cells


def _chart(knowledge: str) -> Chart:
    places = np.arange(-12.0, 12.01, 0.1) if knowledge == INFORMED else np.arange(0.0, 42.01, 0.2)
    alone = BusyCell(group=1, people=1, rate=0.0)
    cell = alone if knowledge == INFORMED else CELL
    with_target, without = (cell.density(places, member=member) for member in (True, False))
    return density_chart(
        f"figure-7-{knowledge}",
        [],
        [
            DensityCurve("without the target", places, without, Stroke.LINE, chart_style.SERIES[0]),
            DensityCurve("with the target", places, with_target, Stroke.LINE, chart_style.SERIES[1]),
        ],
        x_title="published, less what is known",
        y_title="density",
        caption=f"One cell, as an {knowledge} adversary sees it.",
        alternative="Two laws, one shifted by one"
        + (": sharp Laplace peaks." if knowledge == INFORMED else ": wide and round."),
    )


FIGURE_7 = PaperItem(
    title="Figure 7: what is published of one cell",
    about="The paper's example: 2,000 of 10,000 people are in the group, one in a hundred visits the "
    "cell, and Laplace noise of ε = 0.5 is added. The informed adversary takes off what it knows and is "
    "left with the noise; to the auxiliary one the others are noise too. We add what sixty such cells are "
    "worth, exactly, and play it.",
    audits=_audits,
    show=_figure_7,
    notes=(
        (
            "Played with 10,001 people in the pool, all with sixty visits among 6,000 cells, and 10,000 "
            "others whom the adversary knows. Its own people are a sample: they put its thresholds off."
        ),
    ),
)
