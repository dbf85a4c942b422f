"""The plans of Liu et al. (2024): noise, data, attacks and runs, and their verdicts by attack."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log, sqrt
from typing import Any, TypeAlias

import numpy as np

from leakgauge.papers import data_sets, paper
from leakgauge.report.charts import chart_style
from leakgauge.verdict import Verdict

EPSILON = 0.5  # per observation
SCALE = 1 / EPSILON  # of the Laplace noise on one cell
DELTA = 1 / (2 * 1999)  # 1 / 2m for m = 1,999 people
SIGMA = sqrt(2 * log(1.25 / DELTA)) / EPSILON  # the classic calibration: 8.2543
MECHANISMS: dict[str, dict[str, Any]] = {
    "laplace": {"name": "laplace", "epsilon": EPSILON},
    "gaussian": {"name": "gaussian", "epsilon": EPSILON, "delta": DELTA, "calibration": "classic"},
}
METRICS = {"laplace": "one_run", "gaussian": "dkw"}  # at this delta the one-run bound cannot show a violation
NOISES = tuple(MECHANISMS)
CONFIDENCE = 0.999  # there are many intervals
CELLS = np.arange(1.0, 141.0)  # positive observations
FEW_CELLS = np.concatenate([CELLS[:10], CELLS[11:40:2], CELLS[44::5]])  # where the optimum is computed
SIXTY_CELLS = 60  # where the paper looks more closely
COLOURS = {
    "one_threshold": chart_style.SERIES[0],
    "two_threshold": chart_style.SERIES[1],
    "likelihood": chart_style.SERIES[2],
    "reference": chart_style.SERIES[4],
    "shadow_mlp": chart_style.SERIES[3],
}


PLACE_GRID = (12, 8)
PEOPLE = 15_793  # a target, and 7,896 + 7,896 others
LAST_800_HOURS = ("2013-11-28T16:00:00", "2014-01-01")
CITY = data_sets.DataSet(
    name="city",
    description="a synthetic city",
    table={
        "source": "synthetic",
        "users": PEOPLE,
        "sites": PLACE_GRID[0] * PLACE_GRID[1],
        "epochs": 800,
        "visits": 10,
        "skew": 1.5,
    },
)
INFORMED, AUXILIARY = KNOWLEDGES = ("informed", "auxiliary")
RULES = ("one_threshold", "two_threshold", "likelihood", "reference")
NETWORK = "shadow_mlp"
FEW_SHADOWS, MANY_SHADOWS = 2_000, 200_000  # shadows
HUNDRED = 100  # hidden units of earlier work
CELL_COUNTS = {
    paper.Scale.QUICK: (1, 5, 20, 60, 140),
    paper.Scale.FULL: (1, 2, 5, 10, 20, 40, 60, 80, 100, 120, 140),
}
LARGE_CELL_COUNTS = {
    paper.Scale.QUICK: (20, SIXTY_CELLS),
    paper.Scale.FULL: CELL_COUNTS[paper.Scale.FULL],
}  # where networks learn from many
ROUNDS = {paper.Scale.QUICK: 25_000, paper.Scale.FULL: 50_000}
TIMES = {paper.Scale.QUICK: 2, paper.Scale.FULL: 10}  # each with another target and another split
LARGE_TIMES = {paper.Scale.QUICK: 1, paper.Scale.FULL: 10}


def main_place(scope: paper.Scope) -> data_sets.DataSet:
    """Milan, if its file is in the folder of the data sets."""
    return data_sets.milan(scope, PLACE_GRID, LAST_800_HOURS) or CITY


def substitute_note(scope: paper.Scope) -> str:
    """Name the data that were used, in short."""
    if main_place(scope) is not CITY:
        return "Simulated on the last 800 hours of Social Pulse Milano, on a grid of 12 x 8 places."
    return "Simulated on a synthetic city instead of Milan, whose tweets were not given (see figure 13)."


def place_note(scope: paper.Scope) -> str:
    """Say which data were used, and why."""
    if main_place(scope) is not CITY:
        return substitute_note(scope)
    return (
        "The tweets of Milan were not given (--data with social-pulse-milano.geojson in it), so the games "
        "are simulated on a substitute: a synthetic city of the same size, 15,793 people, 96 places, 800 "
        "hours. How often people are seen there is our choice, 10 visits on average and many more for a "
        "few, since the paper does not say; what an auxiliary attacker reaches depends on it (see the "
        "crossover)."
    )


@dataclass(frozen=True, kw_only=True)
class CellAttackVariant:
    """An attack, its knowledge, and how many cells of the target it uses.

    Networks have as many hidden units as cells, unless ``hidden`` says otherwise.
    """

    attack: str
    knowledge: str
    n: int
    shadows: int | None = None
    hidden: int | None = None

    @classmethod
    def of(cls, verdict: Verdict) -> "CellAttackVariant":
        """Return the attack that a verdict is about."""
        options = verdict.parameters["attack"]
        return cls(
            attack=verdict.attack,
            knowledge=verdict.knowledge,
            n=int(verdict.parameters["knowledge"]["observations"]),
            shadows=options.get("shadows"),
            hidden=options.get("hidden"),
        )

    @property
    def label(self) -> str:
        """The label of the attack in a plan."""
        parts = (self.attack, self.shadows, self.hidden, self.knowledge, self.n)
        return "-".join(str(part) for part in parts if part is not None)

    @property
    def attack_table(self) -> dict[str, Any]:
        """One entry of `attacks` in a plan."""
        fit = "never" if self.attack == "likelihood" else None  # only the target's cells are used
        options = {"shadows": self.shadows, "hidden": self.hidden, "fit": fit}
        return {
            "name": self.attack,
            **{key: value for key, value in options.items() if value is not None},
            "knowledge": {"name": self.knowledge, "observations": self.n},
            "label": self.label,
        }


VerdictsByVariant: TypeAlias = Mapping[CellAttackVariant, tuple[Verdict, ...]]


@dataclass(frozen=True, eq=False)
class RepeatedRuns:
    """The same game several times, each time with another target, another split and other groups."""

    name: str
    runs: tuple[paper.PaperRun, ...]

    def games(self, verdicts: Iterable[Verdict]) -> VerdictsByVariant:
        """The verdicts of these runs among others, by attack variant."""
        by_variant: dict[CellAttackVariant, tuple[Verdict, ...]] = {}
        for verdict in verdicts:
            if verdict.audit.partition("-")[0].rpartition("_")[0] == self.name:
                variant = CellAttackVariant.of(verdict)
                by_variant[variant] = (*by_variant.get(variant, ()), verdict)
        return by_variant


def repeated_runs(
    name: str, times: Mapping[paper.Scale, int], audits: Callable[[paper.Scope, str], list[paper.AuditTable]]
) -> RepeatedRuns:
    """Return the runs of a series; ``audits`` returns the audits of one, given the name they begin with."""

    def numbered(number: int, scope: paper.Scope) -> list[paper.AuditTable]:
        return audits(scope, f"{name}_{number}") if number < times[scope.scale] else []

    most = max(times.values())
    return RepeatedRuns(
        name,
        tuple(
            paper.PaperRun(name=f"{name}_{number}", audits=partial(numbered, number), seed_offset=number)
            for number in range(most)
        ),
    )


def audit_table(
    name: str,
    scope: paper.Scope,
    noise: str,
    variants: Sequence[CellAttackVariant],
    *,
    data: data_sets.DataSet | None = None,
    group: int = 2_000,
    rounds: int | None = None,
) -> paper.AuditTable:
    """Return the audit of groups drawn from half of the people, on the main data set by default."""
    return {
        "name": name,
        "domain": "locations",
        "rounds": rounds or ROUNDS[scope.scale],
        "block": 2500,
        "data": dict((data or main_place(scope)).table),
        "challenger": {
            "group_size": group,
            "per_epoch": 1,
            "reference": 0.5,
            "splits": 1,  # as in the paper
            "targets": {"n": 1, "min_visits": 140},
        },
        "mechanism": MECHANISMS[noise],
        "metrics": {"confidence": CONFIDENCE},
        "attacks": [variant.attack_table for variant in variants],
    }


def many_shadows(noise: str, scale: paper.Scale, hidden: int | None = None) -> int:
    """The number of shadows for "200k": a tenth of it where --scale quick does not need more."""
    needed = scale is paper.Scale.FULL or (noise == "laplace" and hidden is None)
    return MANY_SHADOWS if needed else MANY_SHADOWS // 10


def _usual(noise: str, scope: paper.Scope, name: str) -> list[paper.AuditTable]:
    """Every attack, with networks that learn from few shadows."""
    variants = {n: _variants(n, [FEW_SHADOWS]) for n in CELL_COUNTS[scope.scale]}
    if noise == "laplace":  # for figure 1
        for n, attacks in variants.items():
            attacks.append(
                CellAttackVariant(
                    attack=NETWORK, knowledge=INFORMED, n=n, shadows=FEW_SHADOWS, hidden=HUNDRED
                )
            )
    return _audits(name, scope, noise, variants)


def _large(noise: str, scope: paper.Scope, name: str) -> list[paper.AuditTable]:
    """Every attack, with networks that learn from few shadows and from many."""
    shadows = [FEW_SHADOWS, many_shadows(noise, scope.scale)]
    return _audits(name, scope, noise, {n: _variants(n, shadows) for n in LARGE_CELL_COUNTS[scope.scale]})


def _hundred(scope: paper.Scope, name: str) -> list[paper.AuditTable]:
    """Networks with a hundred hidden units."""
    shadows = [FEW_SHADOWS, many_shadows("laplace", scope.scale, HUNDRED)]
    return _audits(name, scope, "laplace", {SIXTY_CELLS: _variants(SIXTY_CELLS, shadows, HUNDRED)})


def _audits(
    name: str, scope: paper.Scope, noise: str, variants: Mapping[int, Sequence[CellAttackVariant]]
) -> list[paper.AuditTable]:
    """One audit or, where it takes long, one for each number of cells, which are saved separately."""
    if scope.scale is paper.Scale.QUICK:
        return [audit_table(name, scope, noise, [variant for some in variants.values() for variant in some])]
    return [audit_table(f"{name}-{n}", scope, noise, some) for n, some in variants.items()]


def _variants(n: int, shadows: Sequence[int], hidden: int | None = None) -> list[CellAttackVariant]:
    return [
        CellAttackVariant(
            attack=attack, knowledge=knowledge, n=n, shadows=number, hidden=hidden if number else None
        )
        for knowledge in KNOWLEDGES
        for attack, number in (*((rule, None) for rule in RULES), *((NETWORK, number) for number in shadows))
    ]


USUAL = {noise: repeated_runs(noise, TIMES, partial(_usual, noise)) for noise in NOISES}
LARGE = {noise: repeated_runs(f"{noise}_large", LARGE_TIMES, partial(_large, noise)) for noise in NOISES}
HUNDRED_UNITS = repeated_runs("hundred", LARGE_TIMES, _hundred)
