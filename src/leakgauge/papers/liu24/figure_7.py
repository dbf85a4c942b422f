"""Figure 7: a cell that others visit too, the success with sixty such cells, and when votes beat the sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.liu24 import plans
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.histograms import DensityCurve, density_chart
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory import loss_composition, threshold_attacks
from leakgauge.theory.asymmetric_composition import DistributionPair, best_attack
from leakgauge.verdict import Verdict

_RARE = 1e-18  # counts less likely than this are left out
_REACH = 60  # beyond all counts, in cells: noise this large has a probability of e^-30
_FINE = 16  # outputs per count that the best attack distinguishes
ROUNDS = {paper.Scale.QUICK: 20_000, paper.Scale.FULL: 200_000}
GROUP, PEOPLE = 2_000, 10_000
VISITORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 70, 100, 150, 250)  # of 10,000
PLAYED_VISITORS = {paper.Scale.QUICK: (1, 5, 10, 25, 100), paper.Scale.FULL: (1, 2, 5, 10, 25, 50, 100, 250)}
ATTACKS = ("one_threshold", "two_threshold", "likelihood")
FOR_BOTH = comparison.PublishedNumber(
    value=0.0, where="“for both types of attackers”, section 5.3.1", claim=comparison.Claim.ABOVE
)
VOTES_IGNORE_SIZE = "A vote ignores by how much a count exceeds its threshold."


@dataclass(frozen=True)
class BusyCell:
    """A group drawn from a population, of which this share visits each of the cells."""

    group: int
    people: int
    rate: float

    @property
    def usual(self) -> float:
        """The expected number of others in a cell."""
        return self.group * self.rate

    @cached_property
    def law(self) -> Reals:
        """The probabilities of 0, 1, ... others in a cell."""
        law = threshold_attacks.count_law(self.group, self.rate, self.people)
        return law[: int(np.flatnonzero(law > _RARE)[-1]) + 1]

    @property
    def variance(self) -> float:
        """The variance of the count of the others in a cell."""
        return threshold_attacks.group_variance(self.group, self.rate * (1 - self.rate), self.people)

    @cached_property
    def vote_chances(self) -> tuple[float, float]:
        """The probability that a cell votes, with a threshold midway: without the target, and with it."""
        return threshold_attacks.vote_chances(self.law, noise_at_least)

    def density(self, places: Reals, *, member: bool) -> Reals:
        """The density of the published value of one cell."""
        counts = np.arange(self.law.size) + member
        return np.exp(-np.abs(places[:, None] - counts) / plans.SCALE) / (2 * plans.SCALE) @ self.law

    def one_threshold(self, n: int) -> float:
        """Exact accuracy of the sum of n cells, with the threshold midway between its two means."""
        total = _power(self.law, n)
        likely = np.flatnonzero(total > 1e-12)
        beyond: Reals = (n * self.usual + n / 2 - likely.astype(np.float64)) / plans.SCALE
        return float(1 - _sum_errors(beyond, n) @ total[likely])

    def two_threshold(self, n: int) -> float:
        """Accuracy of the votes of n cells; the threshold is midway between the two expected numbers."""
        alarm, hit = self.vote_chances
        return float(threshold_attacks.vote_accuracy([alarm] * n, [hit] * n))

    def optimum(self, n: int) -> loss_composition.BestAttack:
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
    """Probability that the Laplace noise of a cell is at least this large."""
    tail = np.exp(-np.abs(x) / plans.SCALE) / 2
    return np.where(x > 0, tail, 1 - tail)


@lru_cache(maxsize=64)
def _optimum(cell: BusyCell, n: int) -> loss_composition.BestAttack:
    return best_attack([(cell.pair, n)])


def _sum_errors(beyond: Reals, n: int) -> Reals:
    """The mean of both worlds' chances of error, where the counts leave so much of the cut to the noise.

    Without the target noise beyond it is an error; with it, n / scale nearer, noise that stays below.
    """
    alarms = _sum_at_least(beyond, n)
    misses = 1 - _sum_at_least(beyond - n / plans.SCALE, n)
    return (alarms + misses) / 2


def _sum_at_least(x: Reals, n: int) -> Reals:
    tails = np.array([threshold_attacks.laplace_sum_above(abs(float(each)), n) for each in x])
    return np.where(x > 0, tails, 1 - tails)


def _power(law: Reals, n: int) -> Reals:
    """The distribution of the sum of n independent counts."""
    size = n * (law.size - 1) + 1
    return np.maximum(np.fft.irfft(np.fft.rfft(law, size) ** n, size), 0.0)


CELL = BusyCell(group=2_000, people=10_000, rate=0.01)


def uniform_city(cell: BusyCell) -> dict[str, Any]:
    """Return the data of a plan, for groups and as many people of the attacker: sixty random cells each.

    Epochs are weeks, so that all are equally busy.
    """
    n_cells = round(plans.SIXTY_CELLS / cell.rate)
    return {
        "source": "synthetic",
        "users": 2 * cell.people + 1,
        "sites": plans.SIXTY_CELLS,
        "epochs": round(n_cells / plans.SIXTY_CELLS),
        "epoch": "7d",
        "visits": plans.SIXTY_CELLS,
        "skew": 0,
        "popularity": 0,
        "home": 0,
        "radius": 1e9,
    }


def cell_audit_table(name: str, scope: paper.Scope, cell: BusyCell) -> paper.AuditTable:
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
            "splits": 1,
            "targets": {"n": 1, "min_visits": plans.SIXTY_CELLS},
        },
        "mechanism": plans.MECHANISMS["laplace"],
        "metrics": {"confidence": plans.CONFIDENCE},
        "attacks": [
            {"name": attack, "knowledge": "auxiliary"}
            for attack in ("one_threshold", "two_threshold", "likelihood")
        ],
    }


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    return [cell_audit_table("cell", scope, CELL)]


def exact_accuracies(cell: BusyCell) -> dict[str, float]:
    """The accuracy of each attack with sixty independent cells, if their rate is known."""
    return {
        "one_threshold": cell.one_threshold(plans.SIXTY_CELLS),
        "two_threshold": cell.two_threshold(plans.SIXTY_CELLS),
        "likelihood": float(cell.optimum(plans.SIXTY_CELLS).accuracy[0]),
    }


def _figure_7(played: paper.PlayedItem) -> paper.ItemResult:
    cells = (*_spreads(), *_accuracies(), *_played(played.verdicts))
    return paper.ItemResult(
        cells, tuple(_chart(knowledge) for knowledge in (plans.INFORMED, plans.AUXILIARY))
    )


def _spreads() -> list[comparison.ComparedNumber]:
    noise = 2 * plans.SCALE**2
    return [
        comparison.ComparedNumber(
            setting="standard deviation of the cell, auxiliary minus informed",
            ours=comparison.exact_number(float(np.sqrt(CELL.variance + noise) - np.sqrt(noise))),
            drawn=True,
            why="Counts that vary can only add to the variance of the noise, so this is not judged.",
        ),
        comparison.ComparedNumber(
            setting="expected number of others in the cell", ours=comparison.exact_number(CELL.usual)
        ),
    ]


def _accuracies() -> list[comparison.ComparedNumber]:
    exact = exact_accuracies(CELL)
    return [
        *(
            comparison.ComparedNumber(
                setting=f"{attack}, {plans.SIXTY_CELLS} such cells", ours=comparison.exact_number(value)
            )
            for attack, value in exact.items()
        ),
        comparison.ComparedNumber(
            setting=f"two_threshold minus one_threshold, {plans.SIXTY_CELLS} such cells",
            ours=comparison.exact_number(exact["two_threshold"] - exact["one_threshold"]),
            published=FOR_BOTH,
            other_data=True,
            why="Stated of the tweets of Milan. With twenty others in a cell, votes do worse than the sum; "
            "they do better below about two (see the crossover).",
        ),
    ]


def _played(verdicts: Sequence[Verdict]) -> list[comparison.ComparedNumber]:
    """At the best threshold, like the exact values, and at the attacker's own."""
    known = exact_accuracies(CELL)
    cells = []
    for verdict in verdicts:
        cells += [
            comparison.ComparedNumber(
                setting=f"{verdict.attack}, simulated, at the best threshold",
                ours=metric_intervals.metric(verdict, "accuracy"),
                exact=known[verdict.attack],
            ),
            comparison.ComparedNumber(
                setting=f"{verdict.attack}, simulated, at its own threshold",
                ours=metric_intervals.accuracy(verdict),
                why="The attacker's people are not those from whom the group is drawn.",
            ),
        ]
    return cells


def _chart(knowledge: str) -> Chart:
    places = np.arange(-12.0, 12.01, 0.1) if knowledge == plans.INFORMED else np.arange(0.0, 42.01, 0.2)
    alone = BusyCell(group=1, people=1, rate=0.0)
    cell = alone if knowledge == plans.INFORMED else CELL
    with_target, without = (cell.density(places, member=member) for member in (True, False))
    return density_chart(
        f"figure-7-{knowledge}",
        [],
        [
            DensityCurve("without the target", places, without, Stroke.LINE, chart_style.SERIES[0]),
            DensityCurve("with the target", places, with_target, Stroke.LINE, chart_style.SERIES[1]),
        ],
        x_title="published count minus known count",
        y_title="density",
        caption=f"One cell, as an {knowledge} attacker sees it.",
        alternative="Two densities, one shifted by one"
        + (": sharp Laplace peaks." if knowledge == plans.INFORMED else ": wide and round."),
    )


FIGURE_7 = paper.PaperItem(
    title="Figure 7: what is published of one cell",
    about="The paper's example: 2,000 of 10,000 people are in the group, one in a hundred visits the cell, "
    "and Laplace noise of ε = 0.5 is added. The informed attacker subtracts what it knows, and only the "
    "noise is left; for the auxiliary one the counts of others are noise too. We add the exact success "
    "with sixty such cells, and simulate it.",
    audits=_audits,
    show=_figure_7,
    notes=(
        (
            "Simulated with 10,001 people in the pool, all with sixty visits among 6,000 cells, and 10,000 "
            "others whose data the attacker has. These are a sample, so its thresholds are not exact."
        ),
    ),
)


def with_visitors(visitors: int) -> BusyCell:
    """The cell of figure 7 with another number of visitors."""
    return BusyCell(group=GROUP, people=PEOPLE, rate=visitors / PEOPLE)


def _crossover_audits(scope: paper.Scope) -> list[paper.AuditTable]:
    return [cell_audit_table(f"cell-{n}", scope, with_visitors(n)) for n in PLAYED_VISITORS[scope.scale]]


def crossover_density() -> float:
    """The expected number of others where both rules are equally good, by interpolation."""
    usual = np.array([with_visitors(n).usual for n in VISITORS])
    leads = np.array(
        [
            with_visitors(n).two_threshold(plans.SIXTY_CELLS)
            - with_visitors(n).one_threshold(plans.SIXTY_CELLS)
            for n in VISITORS
        ]
    )
    last = int(np.flatnonzero(leads > 0)[-1])
    share = leads[last] / (leads[last] - leads[last + 1])
    return float(usual[last] + share * (usual[last + 1] - usual[last]))


def _crossover(played: paper.PlayedItem) -> paper.ItemResult:
    here = crossover_density()
    sparse, dense = (with_visitors(n) for n in (VISITORS[0], VISITORS[-1]))
    cells = [
        comparison.ComparedNumber(
            setting="expected number of others where both rules are equally good",
            ours=comparison.exact_number(here),
        ),
        *(
            comparison.ComparedNumber(
                setting=f"two_threshold minus one_threshold, {each.usual:g} others expected",
                ours=comparison.exact_number(
                    each.two_threshold(plans.SIXTY_CELLS) - each.one_threshold(plans.SIXTY_CELLS)
                ),
                published=FOR_BOTH,
                other_data=True,
                why=f"Stated of the tweets of Milan. {why}".strip(),
            )
            for each, why in ((sparse, ""), (dense, VOTES_IGNORE_SIZE))
        ),
        *(_crossover_cell(verdict) for verdict in played.verdicts),
    ]
    note = (
        f"Votes do better while fewer than {here:.1f} others are expected in a cell; beyond that the sum "
        "does better."
    )
    return paper.ItemResult(tuple(cells), (_crossover_chart(played, here),), (note,))


def _crossover_cell(verdict: Verdict) -> comparison.ComparedNumber:
    place = with_visitors(_visitors(verdict))
    return comparison.ComparedNumber(
        setting=f"{verdict.attack}, {place.usual:g} others expected, simulated, at the best threshold",
        ours=metric_intervals.metric(verdict, "accuracy"),
        exact=exact_accuracies(place)[verdict.attack],
        why="The attacker knows the rates of other people.",
    )


def _visitors(verdict: Verdict) -> int:
    return int(verdict.audit.partition("-")[2])


def _crossover_chart(played: paper.PlayedItem, here: float) -> Chart:
    known = [exact_accuracies(with_visitors(n)) for n in VISITORS]
    usual = np.array([with_visitors(n).usual for n in VISITORS])
    traces: list[ChartSeries] = [
        line_series(
            attack, usual, np.array([each[attack] for each in known]), Stroke.LINE, plans.COLOURS[attack]
        )
        for attack in ATTACKS
    ]
    values = [each[attack] for each in known for attack in ATTACKS]
    ends = np.array([min(values), max(values)])
    traces.append(line_series("both rules equal", np.full(2, here), ends, Stroke.DOTTED, chart_style.CHANCE))
    traces += [
        dot_series(
            f"{attack}, simulated",
            [
                (with_visitors(_visitors(v)).usual, metric_intervals.metric(v, "accuracy"))
                for v in played.verdicts
                if v.attack == attack
            ],
            plans.COLOURS[attack],
        )
        for attack in ATTACKS
    ]
    return series_chart(
        "crossover",
        traces,
        x_title="others usual in a cell",
        y_title="accuracy",
        caption=f"Auxiliary attacker, Laplace noise, {plans.SIXTY_CELLS} cells: accuracy at the best "
        "threshold.",
        alternative="The accuracy of all falls as cells fill up. two_threshold starts above one_threshold "
        f"and falls below it at {here:.1f} others; likelihood is above both everywhere.",
        log=True,
        played=f"simulated, {metric_intervals.confidence_text(played.verdicts)} interval",
    )


CROSSOVER = paper.PaperItem(
    title="Not in the paper: when votes beat the sum",
    about="The paper finds two_threshold ahead of one_threshold for auxiliary attackers too. That holds in "
    "sparse data only. Here the cell of figure 7 is made emptier and fuller; lines are exact for an "
    "attacker who knows the rates, dots are simulated for one who has data of 10,000 other people.",
    audits=_crossover_audits,
    show=_crossover,
    notes=(
        (
            "The likelihood attack, which weighs every cell by the distributions of its count and of the "
            "noise, is the best at every density."
        ),
    ),
)
