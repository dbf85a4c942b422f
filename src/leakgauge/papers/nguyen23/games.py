"""The games behind figures 5, 7, 11 and 12: BitRand and OME at their nominal epsilons."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from leakgauge.papers.comparison import Published
from leakgauge.papers.nguyen23 import statements
from leakgauge.papers.nguyen23.columns import COLUMNS, Column, Form
from leakgauge.papers.nguyen23.setting import (
    EPSILONS,
    FEW_EPSILONS,
    LIKELIHOOD,
    clipped,
    likelihood,
    noise,
    trained,
    write_audit,
)
from leakgauge.papers.paper import Run, Scale, Scope
from leakgauge.verdict import Verdict

AT_FIVE = 5  # where the trained neuron plays at --scale quick


@dataclass(frozen=True)
class Point:
    """One game: a column in one form, at one nominal epsilon."""

    column: Column
    form: Form
    epsilon: int

    def name(self, mechanism: str) -> str:
        """Of its audit."""
        return f"{mechanism}-{self.column.name}-{self.form}-{self.epsilon}"


Games: TypeAlias = Mapping[Point, Mapping[str, Verdict]]  # verdicts by label


@dataclass(frozen=True, kw_only=True)
class Series:
    """All games against one mechanism, and what the paper states of them."""

    mechanism: str
    epsilons: Mapping[Scale, tuple[int, ...]]
    stated: Callable[[Column, float], Published | None]
    hinges: int | None = None  # of each feature, if not as many as the column has

    @property
    def run(self) -> Run:
        return Run(name=self.mechanism, plan=self.plan)

    def points(self, scale: Scale) -> list[Point]:
        """Columns by forms by epsilons."""
        return [
            Point(column, form, epsilon)
            for column in COLUMNS
            for form in Form
            for epsilon in self.epsilons[scale]
        ]

    def plan(self, scope: Scope) -> str:
        """One audit for each point."""
        return "".join(map(partial(self._audit, scope), self.points(scope.scale)))

    def games(self, scale: Scale, verdicts: Iterable[Verdict]) -> Games:
        """The verdicts by point and label."""
        named = {point.name(self.mechanism): point for point in self.points(scale)}
        found: dict[Point, dict[str, Verdict]] = {}
        for verdict in verdicts:
            if verdict.audit in named:
                found.setdefault(named[verdict.audit], {})[verdict.label] = verdict
        return found

    def _audit(self, scope: Scope, point: Point) -> str:
        column, form, epsilon = point.column, point.form, point.epsilon
        attacks = [likelihood(column, form, self.hinges)]
        if form is Form.NON_NEGATIVE:
            attacks.append(clipped())
        if scope.scale is Scale.FULL or (form is Form.NON_NEGATIVE and epsilon == AT_FIVE):
            attacks.append(trained())
        return write_audit(
            point.name(self.mechanism), scope, column, form, noise(self.mechanism, epsilon), attacks
        )


BITRAND = Series(mechanism="bitrand", epsilons=EPSILONS, stated=statements.under_bitrand)
OME = Series(mechanism="ome", epsilons=FEW_EPSILONS, stated=statements.under_ome, hinges=16)


def exact_epsilon(verdicts: Mapping[str, Verdict]) -> float | None:
    """Of a row, by the law of the noise."""
    promised = verdicts[LIKELIHOOD].promised
    return None if promised is None else promised["exact_epsilon"]
