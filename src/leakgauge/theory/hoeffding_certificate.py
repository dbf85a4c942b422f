"""Certificates: what independent draws of a neuron's value prove about recognising a target among other rows.

Every bound is one-sided and fails with a probability of at most ``error``; two of them hold together except
with twice that probability. The draws must be independent; they need not be identically distributed: a mean
over rows, each with noise of its own, is bounded around the mean of their expectations.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from leakgauge.core.errors import BadInput

SMALLEST_ERROR = float(np.nextafter(0, 1))  # an error is never 0, however many draws there are


def hoeffding_half_width(n: int, error: float) -> float:
    """How far below its expectation a mean of ``n`` values in 0 .. 1 may lie (Hoeffding 1963, theorem 2).

    >>> round(hoeffding_half_width(4_000, 1e-8), 3)
    0.048
    """
    if not n >= 1:
        raise BadInput(f"a bound needs at least one draw, got {n}")
    if not 0 < error < 1:
        raise BadInput(f"the error of a bound must be in (0, 1), got {error}")
    return float(np.sqrt(-np.log(error) / (2 * n)))


@dataclass(frozen=True, kw_only=True)
class BoundedMean:
    """The mean of independent values, each within an interval that was known before they were drawn.

    ``width`` is the length of that interval. The observed range must not be used instead: it depends on the
    draws, and Hoeffding's inequality does not hold for it (Nguyen et al., eqs. 9 and 10, leave this open).
    """

    value: float
    n: int
    width: float

    def __post_init__(self) -> None:
        if not (self.n >= 1 and self.width >= 0 and np.isfinite(self.value)):
            raise BadInput(
                f"a mean needs draws, a finite value and a width >= 0, got {self.n}, {self.value} and "
                f"{self.width}"
            )

    def low(self, error: float) -> float:
        """Lower bound of the expectation."""
        return self.value - self.width * hoeffding_half_width(self.n, error)

    def high(self, error: float) -> float:
        """Upper bound of the expectation."""
        return self.value + self.width * hoeffding_half_width(self.n, error)

    @property
    def smallest_error(self) -> float:
        """The smallest error at which the bound has the same sign as the mean.

        Solved from eqs. 9 and 10: e^(-2 n (value / width)^2).
        """
        far = np.inf if self.width == 0 else abs(self.value) / self.width
        return max(float(np.exp(-2 * self.n * far**2)), SMALLEST_ERROR)


@dataclass(frozen=True, kw_only=True)
class ActivationRate:
    """How many of ``n`` independent draws made the neuron active: values of 0 and 1, so the width is 1.

    Hoeffding's bounds; the ``exact`` ones are those of Clopper and Pearson (1934), which are never wider for
    a rate, and much narrower near 0 and 1. They too hold where draws differ in their probability, for errors
    up to 1/4: the tails of such a count are within those of a binomial (Hoeffding 1956, theorem 4).
    """

    hits: int
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.n or not self.n >= 1:
            raise BadInput(f"a rate needs 0 <= hits <= draws and a draw, got {self.hits} of {self.n}")

    @property
    def value(self) -> float:
        return self.hits / self.n

    def low(self, error: float) -> float:
        return max(0.0, self.value - hoeffding_half_width(self.n, error))

    def high(self, error: float) -> float:
        return min(1.0, self.value + hoeffding_half_width(self.n, error))

    def exact_low(self, error: float) -> float:
        """The probability at which this many hits, or more, are as rare as the error.

        >>> round(ActivationRate(hits=10, n=10).exact_low(0.05), 4)
        0.7411
        """
        hoeffding_half_width(self.n, error)  # the same rule for errors
        return float(betaincinv(self.hits, self.n - self.hits + 1, error)) if self.hits else 0.0

    def exact_high(self, error: float) -> float:
        """The probability at which this few hits, or fewer, are as rare as the error."""
        return 1 - ActivationRate(hits=self.n - self.hits, n=self.n).exact_low(error)


def certificate_holds(own: BoundedMean, others: BoundedMean, error: float) -> bool:
    """Whether theorem 1 of Nguyen et al. applies: above zero for the target, at most zero for others.

    It proves the signs of both expectations, except with probability 2 ``error``. It does not prove that the
    attack wins a game: a mean of at most zero says little about how often one row of a batch is above it.
    That is what ``success_bound`` is for.
    """
    return own.low(error) > 0 >= others.high(error)


def smallest_certified_error(own: BoundedMean, others: BoundedMean) -> float | None:
    """The smallest error for which theorem 1 applies (corollary 1); nothing if it never does.

    The larger of the two sides, each solved in closed form. Strictly, at the target's own side it applies
    for every error above this one. Below, it is e^-8:

    >>> own, others = BoundedMean(value=0.2, n=100, width=1.0), BoundedMean(value=-0.3, n=100, width=1.0)
    >>> round(smallest_certified_error(own, others), 6)
    0.000335
    """
    if not own.value > 0 >= others.value:
        return None
    larger = max(own.smallest_error, others.smallest_error)
    return larger if larger < 1 else None


def success_bound(tpr: float, fpr: float, others: int, present: float = 1.0) -> float:
    """Lower bound of the share of games won, from how often the target and another row activate the neuron.

    A game with the target is won where it is in the batch (a share ``present`` of the time) and activates the
    neuron, a game without it where none of the ``others`` rows does. Rows must be drawn independently, with
    noise of their own; rows drawn without replacement from many are nearly independent.

    >>> success_bound(tpr=1.0, fpr=0.01, others=2)
    0.99005
    """
    return (present * tpr + max(0.0, 1 - fpr) ** others) / 2


def success_bound_dependent(tpr: float, fpr: float, others: int, present: float = 1.0) -> float:
    """The same for rows that may depend on one another in any way, by the union bound: 1 - others fpr."""
    return (present * tpr + max(0.0, 1 - others * fpr)) / 2
