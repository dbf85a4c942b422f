"""What a mechanism or a challenger promises."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput


class Relation(StrEnum):
    """Which datasets are neighbours."""

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"


class Unit(StrEnum):
    """What one neighbour differs by."""

    EVENT = "event"
    USER_DAY = "user-day"
    USER = "user"
    RECORD = "record"
    CLIENT = "client"
    GROUP = "group"  # all records that a release is made of: they depend on one another


@dataclass(frozen=True, eq=False)
class TradeoffCurve:
    """The largest true-positive rate at each false-positive rate: the whole promise, where the law is known.

    Straight lines join the points; they start at FPR 0 and end at FPR 1.
    """

    fpr: npt.NDArray[np.float64]
    tpr: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        ordered = bool((np.diff(self.fpr) >= 0).all() and (np.diff(self.tpr) >= 0).all())
        if self.fpr.shape != self.tpr.shape or not ordered or self.fpr[0] != 0 or self.fpr[-1] != 1:
            raise BadInput("a trade-off curve needs as many FPRs (rising from 0 to 1) as TPRs (rising)")


@dataclass(frozen=True, kw_only=True)
class ComposedGuarantee:
    """What is left for somebody who owns many protected parts: epsilon at one delta, worked out in two ways.

    ``kairouz`` knows of each part no more than its epsilon and delta (Kairouz, Oh and Viswanath 2015);
    ``tight`` knows the law of the noise, where it is known. Both are bounds; ``tight`` is never the larger.
    """

    parts: int
    delta: float
    kairouz: float
    tight: float | None = None


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """(epsilon, delta)-indistinguishability of neighbours, for one unit.

    ``sensitivity`` is how far one unit can move what is released, in the norm of the noise. A ``nominal``
    epsilon is the one on the label, perhaps for a smaller unit; ``exact_epsilon`` the one the law supports at
    this delta, where it is known. ``curve`` holds the whole trade-off where the law is known. ``composed`` is
    what promises to parts of the unit add up to, with a little more delta.

    >>> Guarantee(epsilon=1.0).delta
    0.0
    """

    epsilon: float
    delta: float = 0.0
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = Unit.RECORD
    sensitivity: float = 1.0
    nominal_epsilon: float | None = None
    nominal_unit: Unit | None = None
    exact_epsilon: float | None = None
    curve: TradeoffCurve | None = None
    composed: ComposedGuarantee | None = None

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise BadInput(f"epsilon must be >= 0, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise BadInput(f"delta must be in [0, 1), got {self.delta}")
        if not self.sensitivity > 0:
            raise BadInput(f"sensitivity must be > 0, got {self.sensitivity}")
