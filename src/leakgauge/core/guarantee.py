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
    STEP = "step"  # one record that is in the batch of a training step
    TRAINING = "training"  # one record that is in every batch of a training
    GROUP = "group"  # all records of a release, because they depend on each other


@dataclass(frozen=True, eq=False)
class TradeoffCurve:
    """The largest true-positive rate at each false-positive rate: the whole promise.

    It is known where the noise distribution is. Straight lines join the points, from FPR 0 to FPR 1.
    """

    fpr: npt.NDArray[np.float64]
    tpr: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        ordered = bool((np.diff(self.fpr) >= 0).all() and (np.diff(self.tpr) >= 0).all())
        same = self.fpr.ndim == 1 and self.fpr.shape == self.tpr.shape
        if not same or not ordered or self.fpr[0] != 0 or self.fpr[-1] != 1:
            raise BadInput("a trade-off curve needs as many FPRs (rising from 0 to 1) as TPRs (rising)")


@dataclass(frozen=True, kw_only=True)
class ComposedGuarantee:
    """Epsilon at one delta for a person with many protected parts, computed in two ways.

    ``kairouz`` uses only epsilon and delta of each part (Kairouz, Oh and Viswanath 2015); ``tight`` uses the
    noise distribution, where it is known. Both are bounds; ``tight`` is never the larger. ``part_epsilon`` is
    the epsilon of one part that both start from.
    """

    parts: int
    delta: float
    kairouz: float
    tight: float | None = None
    part_epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class LeastProtected:
    """What is promised to the person of the data who owns most protected parts, target or not.

    ``accuracy`` is how often an attacker of this person may be right while the promise is kept.
    """

    epsilon: float
    accuracy: float
    parts: int


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """(epsilon, delta)-indistinguishability of neighbours, for one unit.

    ``sensitivity`` is how far one unit can move the released values, in the norm of the noise. A ``nominal``
    epsilon is the stated one, perhaps for a smaller unit, and ``nominal_exact`` what the noise gives that
    unit; ``exact_epsilon`` is the one that the noise gives at this delta. ``curve`` holds the whole
    trade-off. Both are given where the noise distribution is known. ``composed`` is what the promises to the
    parts of a unit add up to, with a slightly larger delta. Where people own different numbers of parts, all
    this is about the target who owns most, and ``least_protected`` about the person of the data who does.
    ``claimed`` is what an owner says of code of their own: it is tested, and proves nothing.

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
    nominal_exact: float | None = None
    exact_epsilon: float | None = None
    curve: TradeoffCurve | None = None
    composed: ComposedGuarantee | None = None
    least_protected: LeastProtected | None = None
    claimed: bool = False

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise BadInput(f"epsilon must be >= 0, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise BadInput(f"delta must be in [0, 1), got {self.delta}")
        if not self.sensitivity > 0:
            raise BadInput(f"sensitivity must be > 0, got {self.sensitivity}")
