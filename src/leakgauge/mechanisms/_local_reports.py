"""What all mechanisms that perturb a value before it leaves its owner have in common.

A mechanism says how one report is drawn, its exact distribution, and which privacy losses two values have.
Several reports of the same value, with fresh noise or the same noise each time, follow here.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms import name_of
from leakgauge.mechanisms._validation import require_few_clipped, require_positive, require_whole
from leakgauge.theory import asymmetric_composition, loss_composition

LossCell: TypeAlias = loss_composition.AnyCell | asymmetric_composition.DistributionPair
LossCells: TypeAlias = list[tuple[LossCell, int]]

MOST_CATEGORIES = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class LocalReports:
    """Perturbs a value; the owner sends it ``reports`` times.

    Each report has fresh noise, so that their epsilons add up, or they are ``memoised``: the first one is
    sent again and again, and reveals no more than once. Several reports lie along a new axis of the output,
    behind those of the values.
    """

    epsilon: float
    reports: int = 1
    memoised: bool = False
    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD

    value_axes: ClassVar[int] = 0  # 1 if a value is a vector

    def __post_init__(self) -> None:
        require_positive(name_of(self), epsilon=self.epsilon)
        require_whole(name_of(self), "reports", self.reports, 1)

    @abstractmethod
    def report(self, values: Reals, rng: Generator) -> Reals:
        """Draw one report of every value."""

    @abstractmethod
    def report_log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability, or density, of one report of each value."""

    @abstractmethod
    def worst_cells(self) -> LossCells:
        """The privacy losses of one report, between two values that it tells apart best."""

    @abstractmethod
    def cells_between(self, low: Reals, high: Reals) -> LossCells:
        """The privacy losses of one report, between two arrays of values."""

    @abstractmethod
    def epsilon_of_report(self, low: Reals, high: Reals) -> float:
        """The largest privacy loss of one report, between two arrays of values."""

    @property
    @abstractmethod
    def exact_epsilon(self) -> float:
        """The largest privacy loss of one report, between any two values."""

    @property
    def composed(self) -> int:
        """How many reports have noise of their own."""
        return 1 if self.memoised else self.reports

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for all reports together, by the noise distribution; nominal is that of one."""
        epsilon = self.composed * self.exact_epsilon
        return Guarantee(
            epsilon=epsilon,
            relation=self.relation,
            unit=self.unit,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon,
            curve=self._curve(self.worst_cells()),
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        if self.reports == 1:
            return self.report(values, rng)
        axis = self._report_axis(values)
        drawn = self.report(np.repeat(np.expand_dims(values, axis), self.composed, axis), rng)
        return np.repeat(drawn, self.reports, axis) if self.memoised else drawn

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability, or density, of the reports of each value."""
        if self.reports == 1:
            return self.report_log_law(outputs, values)
        axis = self._report_axis(values)
        if not self.memoised:
            return self.report_log_law(outputs, np.expand_dims(values, axis)).sum(axis=axis)
        first = np.take(outputs, 0, axis=axis)
        same = outputs == np.expand_dims(first, axis)
        law = self.report_log_law(first, values)
        all_same = same.all(axis=tuple(range(axis, same.ndim)))
        return np.where(all_same.reshape(all_same.shape + (1,) * (law.ndim - all_same.ndim)), law, -np.inf)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two arrays of values, never below the exact one."""
        return self._curve(self.cells_between(low, high))

    def epsilon_between(self, low: Reals, high: Reals) -> float:
        """Return the epsilon between two arrays of values, of all reports together."""
        return self.composed * self.epsilon_of_report(low, high)

    def _curve(self, cells: LossCells) -> TradeoffCurve:
        counted = [(cell, n * self.composed) for cell, n in cells if n]
        symmetric = [
            (cell, n) for cell, n in counted if not isinstance(cell, asymmetric_composition.DistributionPair)
        ]
        if len(symmetric) == len(counted):
            return loss_composition.best_attack(symmetric).high
        return asymmetric_composition.best_attack(counted).high

    def _report_axis(self, values: Reals) -> int:
        return values.ndim - self.value_axes


@dataclass(frozen=True, kw_only=True)
class CategoryReports(LocalReports):
    """Reports of a category, 0 to ``categories`` - 1, from which frequencies can be estimated.

    A report supports some categories: the true one with probability ``support_true``, each other one with
    probability ``support_other`` (Wang et al. 2017, "pure" protocols).
    """

    categories: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(name_of(self), "categories", self.categories, 2)
        if self.categories > MOST_CATEGORIES:
            raise BadInput(
                f"{name_of(self)}: categories must be at most {MOST_CATEGORIES}, got {self.categories}"
            )

    @property
    @abstractmethod
    def support_true(self) -> float:
        """How often a report supports the true category."""

    @property
    @abstractmethod
    def support_other(self) -> float:
        """How often it supports any other one."""

    @abstractmethod
    def supported(self, outputs: Reals) -> Reals:
        """1 for each category that a report supports, 0 for others, along a new last axis."""

    @property
    def variance(self) -> float:
        """The variance of the estimated frequency of a rare category, times the number of reports."""
        other = self.support_other
        return other * (1 - other) / (self.support_true - other) ** 2

    def frequencies(self, outputs: Reals) -> Reals:
        """Unbiased estimates of how frequent each category is, from one report of each owner."""
        support = self.supported(outputs).reshape(-1, self.categories).mean(axis=0)
        return np.asarray((support - self.support_other) / (self.support_true - self.support_other))

    def cells_between(self, low: Reals, high: Reals) -> LossCells:
        changed = self._changed(low, high)
        return [(cell, n * changed) for cell, n in self.worst_cells()]

    def epsilon_of_report(self, low: Reals, high: Reals) -> float:
        return self.exact_epsilon * self._changed(low, high)

    def require_categories(self, values: Reals) -> None:
        """Refuse a value that is not the number of a category."""
        known = (values == np.floor(values)) & (values >= 0) & (values < self.categories)
        if not known.all():
            raise BadInput(
                f"{name_of(self)}: values must be whole numbers from 0 to {self.categories - 1}, "
                f"got {values[~known].flat[0]}; number the categories, or raise categories"
            )

    def _changed(self, low: Reals, high: Reals) -> int:
        self.require_categories(low)
        self.require_categories(high)
        return int(np.sum(low != high))


def reports_categories(kind: type) -> bool:
    """Whether a class of mechanisms is for categories."""
    return issubclass(kind, CategoryReports)


@dataclass(frozen=True, kw_only=True)
class NumberReports(LocalReports):
    """Reports of numbers in +-``bound`` whose mean is the number; a row of ``features`` shares epsilon.

    Numbers beyond the bound are cut off; if they are more than 1 %, ``saturate`` must say so.
    """

    features: int = 1
    bound: float = 1.0
    saturate: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(name_of(self), "features", self.features, 1)
        require_positive(name_of(self), bound=self.bound)

    @property
    def share(self) -> float:
        """The epsilon of one feature."""
        return self.epsilon / self.features

    @abstractmethod
    def variance(self, values: Reals) -> Reals:
        """The variance of one report of each value."""

    def require_range(self, values: Reals) -> float:
        """Return the share of values that will be cut off; refuse more than a few unless ``saturate``."""
        share = float(np.mean(np.abs(values) > self.bound))
        way_out = "scale them, state a larger bound"
        return require_few_clipped(name_of(self), share, self.bound, way_out, saturate=self.saturate)

    def in_unit(self, values: Reals) -> Reals:
        """The values cut to the bound, in units of it."""
        values = np.asarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise BadInput(f"{name_of(self)}: values must be finite numbers, got one that is not")
        width = values.shape[-1] if values.ndim else 1
        if self.reports == 1 and width > self.features:
            raise BadInput(
                f"{name_of(self)}: rows of {width} values, but the promise is to rows of {self.features}; "
                f"state features = {width}"
            )
        return np.clip(values / self.bound, -1.0, 1.0)
