"""The privacy loss of one noisy cell (Laplace, geometric, randomized response), exact and on a lattice.

The privacy loss of an output is ln P(output | member) - ln P(output | non-member). On a lattice, a
distribution of losses is kept as the probabilities, for a member, of the losses 0, step, 2 step, ...; the
losses below zero follow: P(loss = -l) = e^-l P(loss = l). ``spread_on_lattice`` moves an atom to the two
nearest lattice points and keeps its probability in both worlds, so that the worlds can only become easier to
distinguish (Blackwell 1953; Doroshenko et al. 2022). ``gather_on_lattice`` lets an atom answer at random a
little more often, so that they can only become harder to distinguish.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

TAIL_EXPONENT = 38.0  # a probability of e^-38 = 3e-17 may lie outside the window of a sum
NORMAL_TAIL = 9.0  # standard deviations: 1e-19
_ON_LATTICE = 1e-9  # in steps: a loss this close to a lattice point is on it
_LARGEST_LOSS = 1e12


class NoisyCell(Protocol):
    """The distribution of a member's loss in one cell; a non-member's loss is distributed as its negative."""

    @property
    def largest(self) -> float: ...

    @property
    def unit(self) -> float:
        """All atoms of the loss are whole multiples of it."""
        ...

    @property
    def continuous(self) -> bool:
        """Whether the loss has a continuous part besides its atoms."""
        ...

    @property
    def beyond(self) -> float:
        """At most this probability has a loss above the largest."""
        ...

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of the loss, and its variance or an upper bound of it."""
        ...

    def pessimistic_lattice(self, step: float) -> Reals:
        """The loss on a lattice that reveals no less than the cell: an upper bound of any attack."""
        ...

    def optimistic_lattice(self, step: float) -> Reals:
        """The loss on a lattice that reveals no more than the cell: a lower bound of the best attack."""
        ...


@dataclass(frozen=True, order=True)
class LaplaceCell:
    """A shift of ``ratio`` scales under Laplace noise.

    With y the output in scales, the loss is 2y - ratio between the two centres and +-ratio beyond them: half
    of the members' outputs lie at the upper end, and the density below it is e^-(ratio - loss)/2 / 4.
    """

    ratio: float
    continuous = True
    beyond = 0.0

    def __post_init__(self) -> None:
        _require_loss("the ratio of shift to scale", self.ratio)

    @property
    def largest(self) -> float:
        return self.ratio

    @property
    def unit(self) -> float:
        return self.ratio

    @property
    def moments(self) -> tuple[float, float]:
        return float(self.ratio + np.expm1(-self.ratio)), min(self.ratio**2, 4.0)

    def pessimistic_lattice(self, step: float) -> Reals:
        whole, rest = self._whole_and_rest(step)
        level = np.exp((step * np.arange(whole + 1) - self.ratio) / 2) / 2
        width = np.append(np.full(whole, step), rest)
        above = level * 4 * np.sinh(width / 4) ** 2 / -np.expm1(-step)
        end_above = 0.5 * np.expm1(-rest) / np.expm1(-step)
        law = np.append(level * np.expm1(width / 2) - above, 0.0)
        law[1:] += above
        law[whole] += 0.5 - end_above
        law[whole + 1] += end_above
        return with_zero_loss(law, step)

    def optimistic_lattice(self, step: float) -> Reals:
        """Join outputs into bins centred at lattice points, whose loss is exactly that of their centre.

        The end atom, where it is off the lattice, takes in as much of its neighbourhood as it needs to
        come down to the nearest lattice point.
        """
        whole, rest = self._whole_and_rest(step)
        kept = 1 - np.sqrt(-np.expm1(-rest))  # e^-width/2 of the neighbourhood
        edge = (self.ratio + 2 * np.log(kept)) / step
        if not edge > 1:
            return np.ones(1)
        center = int(np.ceil(edge)) - 1
        steps = np.arange(center + 1)
        overhang = edge - center
        half_width = step * np.where((center - steps) % 2 == 0, overhang, 1 - overhang)
        law = np.zeros(whole + 1)
        law[steps] = np.exp((step * steps - self.ratio) / 2) * np.sinh(half_width / 2)
        law[whole] += (2 - kept) / 2
        return with_zero_loss(law, step)

    def _whole_and_rest(self, step: float) -> tuple[int, float]:
        whole, rest = whole_and_rest(self.ratio, step)
        return int(whole), float(rest)


def laplace_lattices(ratios: Reals, step: float) -> Reals:
    """``LaplaceCell.pessimistic_lattice`` of many ratios: a row each, filled up with zeros."""
    whole, rest = whole_and_rest(ratios, step)
    places = np.arange(int(whole.max()) + 2)
    below, end = places < whole[:, None], places == whole[:, None]
    width = np.where(below, step, np.where(end, rest[:, None], 0.0))
    level = np.exp(np.minimum(step * places - ratios[:, None], 0.0) / 2) / 2
    above = level * 4 * np.sinh(width / 4) ** 2 / -np.expm1(-step)
    laws = level * np.expm1(width / 2) - above
    laws[:, 1:] += above[:, :-1]
    rows = np.arange(whole.size)
    end_above = 0.5 * np.expm1(-rest) / np.expm1(-step)
    laws[rows, whole] += 0.5 - end_above
    laws[rows, whole + 1] += end_above
    laws[:, 0] = np.maximum(0.0, 1.0 - laws[:, 1:] @ (1 + np.exp(-step * places[1:])))
    return laws


class _DiscreteLoss:
    """What a cell whose loss has no continuous part computes from the atoms of the loss."""

    continuous = False
    beyond = 0.0

    def atoms(self) -> tuple[Reals, Reals]:
        """The losses above zero, and the probability of each for a member."""
        raise NotImplementedError

    @property
    def moments(self) -> tuple[float, float]:
        losses, masses = self.atoms()
        mean = float(losses @ (masses * -np.expm1(-losses)))
        return mean, max(0.0, float(losses**2 @ (masses * (1 + np.exp(-losses)))) - mean**2)

    def pessimistic_lattice(self, step: float) -> Reals:
        return spread_on_lattice(*self.atoms(), step)

    def optimistic_lattice(self, step: float) -> Reals:
        return gather_on_lattice(*self.atoms(), step)


@dataclass(frozen=True, order=True)
class GeometricCell(_DiscreteLoss):
    """A whole ``shift`` under two-sided geometric noise, whose probabilities fall by e^-rate per unit."""

    rate: float
    shift: int = 1

    def __post_init__(self) -> None:
        _require_loss("the rate", self.rate)
        if not (self.shift >= 1 and self.shift == int(self.shift)):
            raise BadInput(f"geometric noise: the shift must be a whole number >= 1, got {self.shift}")

    @property
    def largest(self) -> float:
        return self.rate * self.shift

    @property
    def unit(self) -> float:
        return self.rate

    def atoms(self) -> tuple[Reals, Reals]:
        # How far an output lies below the upper centre.
        below = np.arange((self.shift + 1) // 2, dtype=np.float64)
        masses = np.exp(-self.rate * below) * np.tanh(self.rate / 2)
        masses[0] = _logistic(self.rate)
        return self.rate * (self.shift - 2 * below), masses


@dataclass(frozen=True, order=True)
class ResponseCell(_DiscreteLoss):
    """One randomized response; with two categories no other epsilon-DP cell reveals more.

    (Kairouz, Oh and Viswanath 2015.)
    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        _require_loss("epsilon", self.epsilon)
        if not self.categories >= 2:
            raise BadInput(f"randomized response needs at least 2 categories, got {self.categories}")

    @property
    def largest(self) -> float:
        return self.epsilon

    @property
    def unit(self) -> float:
        return self.epsilon

    def atoms(self) -> tuple[Reals, Reals]:
        return np.array([self.epsilon]), np.array([_logistic(self.epsilon - np.log(self.categories - 1))])


@dataclass(frozen=True, order=True)
class TernaryCell(_DiscreteLoss):
    """A loss of +-epsilon or of zero; ``mass`` is how often a member has the loss +epsilon.

    So are the losses of most local reports: an output speaks for one value, for the other, or for neither.

    >>> TernaryCell(1.0, 0.5).moments[0] < ResponseCell(1.0).moments[0]
    True
    """

    epsilon: float
    mass: float

    def __post_init__(self) -> None:
        _require_loss("epsilon", self.epsilon)
        most = float(_logistic(self.epsilon))
        if not 0 < self.mass <= most * (1 + _ON_LATTICE):
            raise BadInput(
                f"a loss of {self.epsilon:g} has a probability in (0, {most:g}], got {self.mass:g}"
            )

    @property
    def largest(self) -> float:
        return self.epsilon

    @property
    def unit(self) -> float:
        return self.epsilon

    def atoms(self) -> tuple[Reals, Reals]:
        return np.array([self.epsilon]), np.array([self.mass])


def _logistic(x: npt.ArrayLike) -> Reals:
    """1 / (1 + exp(-x)); SciPy's takes long to load."""
    return 1 / (1 + np.exp(-np.asarray(x, dtype=np.float64)))


def _require_loss(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise BadInput(
            f"{name} must be > 0 and finite, got {value}; leave out cells that the target does not change"
        )
    if value > _LARGEST_LOSS:
        raise BadInput(
            f"{name} is {value:g}, above {_LARGEST_LOSS:g}: such noise hides nothing; add more noise, or "
            "leave the promise out"
        )


def spread_on_lattice(losses: Reals, masses: Reals, step: float) -> Reals:
    """Put atoms (all losses above zero) on the lattice, revealing no less."""
    whole, rest = whole_and_rest(losses, step)
    above = masses * np.expm1(-rest) / np.expm1(-step)
    law = np.zeros(int(whole.max()) + 2)
    np.add.at(law, whole, masses - above)
    np.add.at(law, whole + 1, above)
    return with_zero_loss(law, step)


def spread_bins_on_lattice(low: Reals, high: Reals, members: Reals, others: Reals, step: float) -> Reals:
    """Put bins of losses >= 0 on the lattice, revealing no less; atoms are bins of one loss.

    All losses of a bin are pushed to the lattice points around its two ends, so that its probability in both
    worlds stays what it is.
    """
    down, _ = whole_and_rest(low, step)
    below, rest = whole_and_rest(high, step)
    up = np.maximum(below + (rest > 0), down)
    bottom, top = step * down, step * up
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.expm1(bottom + np.log(others) - np.log(members)) / np.expm1(bottom - top)
    above = members * np.clip(np.where((up > down) & (members > 0), share, 0.0), 0.0, 1.0)
    law = np.zeros(int(up.max()) + 1)
    np.add.at(law, down, members - above)
    np.add.at(law, up, above)
    return with_zero_loss(law, step)


def gather_on_lattice(losses: Reals, masses: Reals, step: float) -> Reals:
    """Put atoms (all losses above zero) on the lattice, revealing no more."""
    whole, rest = whole_and_rest(losses, step)
    law = np.zeros(int(whole.max()) + 1)
    np.add.at(law, whole, masses * _logistic(losses - rest) / _logistic(losses))
    return with_zero_loss(law, step)


def whole_and_rest(losses: npt.ArrayLike, step: float) -> tuple[npt.NDArray[np.int64], Reals]:
    """The number of whole steps in each loss, and the remainder."""
    losses = np.asarray(losses, dtype=float)
    steps = losses / step
    nearest = np.round(steps)
    exact = np.abs(steps - nearest) < _ON_LATTICE
    whole = np.where(exact, nearest, np.floor(steps))
    return whole.astype(np.int64), np.where(exact, 0.0, losses - whole * step)


def with_zero_loss(law: Reals, step: float) -> Reals:
    """Set the probability of loss zero so that all probabilities, also of losses below zero, sum to one."""
    law = np.trim_zeros(law[1:], "b")
    below = np.exp(-step * np.arange(1, law.size + 1))
    return np.append(max(0.0, 1.0 - float(np.sum(law * (1 + below)))), law)


def bernstein_window(moments: Sequence[tuple[float, float, float, int]], mu: float) -> tuple[float, float]:
    """The interval in which a sum of losses lies, except with probability e^-38 on either side.

    ``moments`` are (mean, variance, largest, number) of each kind of bounded loss, at most twice the largest
    away from their mean (Bernstein's inequality, 1927); ``mu`` adds a Gaussian loss.
    """
    mean = sum(n * mean for mean, _, _, n in moments)
    variance = sum(n * variance for _, variance, _, n in moments)
    most = sum(n * largest for _, _, largest, n in moments)
    linear = max((2 * largest for _, _, largest, _ in moments), default=0.0) * TAIL_EXPONENT / 3
    reach = linear + sqrt(linear**2 + 2 * variance * TAIL_EXPONENT)
    low, high = max(-most, mean - reach), min(most, mean + reach)
    return low + mu * (mu / 2 - NORMAL_TAIL), high + mu * (mu / 2 + NORMAL_TAIL)
