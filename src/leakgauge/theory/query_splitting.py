"""Accuracy of attacks that use m independent answers about one target: query splitting (Huang et al.).

The t-test of Huang et al. decides from the answers whether a target is in. The midpoint and the likelihood
ratio are other attacks on the same answers.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.theory import loss_composition, threshold_attacks
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell

TTestForm: TypeAlias = Literal["textbook", "paper"]  # of S: a sum of squares over m - 1, or over m
TTestSides: TypeAlias = Literal[1, 2]

SQRT_2 = float(np.sqrt(2))  # the standard deviation of Laplace noise of scale one
FEWEST, MOST = 4, 100  # variables: outside of this range the lattice is too coarse
_CUT = 11.0  # scales: single variables further out, 2e-5 of all, are left out
_SUMS, _SQUARES = 1024, 4096  # points of the lattice
_FEW = 8  # variables up to which the lattice of squares is twice as fine


def success_as_printed(
    m: npt.ArrayLike, ratio: npt.ArrayLike, *, level: float = 0.05, misprint: bool = False
) -> Reals:
    """Success of the two-sided t-test by theorem 5 of Huang et al.: a central t, shifted.

    ``ratio`` is in standard deviations: epsilon / sqrt 2 for a count under Laplace noise. The power of a
    t-test is a non-central t, so this is wrong even for normal noise. With ``misprint`` the critical value is
    that of m degrees of freedom, as in the formulas after the theorem and in its proof, instead of m - 1.

    >>> success_as_printed([10], 1 / SQRT_2).round(3).tolist()
    [0.72]
    """
    numbers, shifts = _numbers(m), np.sqrt(np.asarray(m, dtype=float)) * _ratios(ratio)
    critical = scipy.special.stdtrit(numbers - (not misprint), 1 - _level(level) / 2)
    missed = scipy.special.stdtr(numbers - 1, critical - shifts) - scipy.special.stdtr(
        numbers - 1, -critical - shifts
    )
    return np.asarray((2 - level - missed) / 2)


def success_normal(
    m: npt.ArrayLike,
    ratio: npt.ArrayLike,
    *,
    form: TTestForm = "textbook",
    sides: TTestSides = 2,
    level: float = 0.05,
) -> Reals:
    """Success of the t-test under normal noise: exact, a non-central t. ``ratio`` is in standard deviations.

    >>> success_normal([10], 1 / SQRT_2).round(3).tolist()
    [0.732]
    """
    numbers, critical = _numbers(m), critical_value(m, form=form, sides=sides, level=level)
    shifts = np.sqrt(numbers) * _ratios(ratio)
    power = 1 - scipy.special.nctdtr(numbers - 1, shifts, critical)
    if sides == 2:
        power = power + scipy.special.nctdtr(numbers - 1, shifts, -critical)
    size = sides * scipy.special.stdtr(numbers - 1, -critical)
    return np.asarray((1 - size + power) / 2)


def success_laplace(
    m: int, ratio: npt.ArrayLike, *, form: TTestForm = "textbook", sides: TTestSides = 2, level: float = 0.05
) -> Reals:
    """Success of the t-test under Laplace noise, for 4 to 100 answers; accurate to 4e-4.

    ``ratio`` is in scales.

    >>> success_laplace(10, [1.0]).round(3).tolist()
    [0.766]
    """
    critical = float(critical_value(m, form=form, sides=sides, level=level))
    ratios = _ratios(ratio)
    size, *power = _rejected(m, (0.0, *ratios.ravel().tolist()), critical, sides == 2)
    return np.asarray((1 - size + np.reshape(power, ratios.shape)) / 2)


def size_laplace(
    m: int, *, form: TTestForm = "textbook", sides: TTestSides = 2, level: float = 0.05
) -> float:
    """How often the t-test says "member" of a non-member under Laplace noise.

    >>> round(size_laplace(10), 3)
    0.042
    """
    critical = float(critical_value(m, form=form, sides=sides, level=level))
    return _rejected(m, (0.0,), critical, sides == 2)[0]


def size_normal(
    m: npt.ArrayLike, *, form: TTestForm = "textbook", sides: TTestSides = 2, level: float = 0.05
) -> Reals:
    """How often the t-test says "member" of a non-member under normal noise: ``level`` in textbook form.

    >>> size_normal([4, 10, 29], form="paper").round(3).tolist()
    [0.07, 0.06, 0.054]
    """
    return np.asarray(
        sides * scipy.special.stdtr(_numbers(m) - 1, -critical_value(m, form=form, sides=sides, level=level))
    )


def critical_value(m: npt.ArrayLike, *, form: TTestForm, sides: TTestSides, level: float) -> Reals:
    """What the textbook t must exceed. The paper's t is sqrt(m / (m - 1)) times as large, for the same table.

    (Huang et al., section 4.4: S with 1/m, the root of m, and m - 1 degrees of freedom.)
    """
    numbers = _numbers(m)
    critical = scipy.special.stdtrit(numbers - 1, 1 - _level(level) / sides)
    match form:
        case "textbook":
            return np.asarray(critical)
        case "paper":
            return np.asarray(critical * np.sqrt((numbers - 1) / numbers))
        case _:
            raise BadInput(f"no form of the t-test is called {form!r}; known: textbook, paper")


def _numbers(m: npt.ArrayLike) -> Reals:
    numbers = np.asarray(m, dtype=float)
    if not ((numbers >= 2) & (numbers == np.floor(numbers)) & (numbers < np.inf)).all():
        raise BadInput(f"the number of answers must be a whole number >= 2, got {m!r}")
    return numbers


def _ratios(ratio: npt.ArrayLike) -> Reals:
    ratios = np.asarray(ratio, dtype=float)
    if not ((ratios >= 0) & (ratios < np.inf)).all():
        raise BadInput(f"the ratio of shift to noise must be >= 0 and finite, got {ratio!r}")
    return ratios


def _level(level: float) -> float:
    if not 0 < level < 1:
        raise BadInput(f"level must be in (0, 1), got {level}")
    return level


@lru_cache(maxsize=1024)
def _rejected(m: int, shifts: tuple[float, ...], critical: float, both_sides: bool) -> tuple[float, ...]:
    """The chances of :class:`SquareSums`, kept because its table is large and takes long."""
    law = SquareSums.of(m)
    return tuple(law.rejected(shift, critical, both_sides=both_sides) for shift in shifts)


@dataclass(frozen=True, eq=False)
class SquareSums:
    """Probabilities of (A, Q), sum and sum of squares of m Laplace variables of scale one, on a lattice."""

    m: int
    sums: Reals  # A of each row
    below: Reals  # rows x points: probability of the row with Q below the upper end of each bin
    step: float  # of Q; bins are centred at its multiples
    spread: float  # standard deviation of one variable on the lattice, over that of a Laplace variable

    @classmethod
    def of(cls, m: int) -> "SquareSums":
        """Convolve the distribution of (x, x^2) with itself m times, by Fourier transform.

        x is split between two neighbours on the lattice so that its mean is kept; then x^2 is. The first adds
        a little variance, which ``spread`` corrects: the t statistic does not depend on the scale. Results
        are accurate to 4e-4 for 4 variables and to 2e-4 for 10 and more.
        """
        if not (FEWEST <= m <= MOST and m == int(m)):
            raise BadInput(
                f"the number of Laplace variables must be a whole number in [{FEWEST}, {MOST}], got {m}"
            )
        n_squares = 2 * _SQUARES if m <= _FEW else _SQUARES
        reach = 12 + 6 * np.sqrt(2 * m)
        step = 2 * reach / _SUMS
        square_step = (_CUT**2 + 2 * m + 8 * np.sqrt(20 * m)) / n_squares
        places, masses = _one(step)
        squares = (places * step) ** 2 / square_step
        lower = np.floor(squares).astype(np.int64)
        law = np.zeros((_SUMS, n_squares))
        np.add.at(law, (places % _SUMS, lower % n_squares), masses * (1 - squares + lower))
        np.add.at(law, (places % _SUMS, (lower + 1) % n_squares), masses * (squares - lower))
        total = np.maximum(scipy.fft.irfft2(scipy.fft.rfft2(law) ** m, law.shape), 0.0)
        sums = step * np.fft.fftfreq(_SUMS, 1 / _SUMS)
        return cls(m, sums, np.cumsum(total, axis=1), square_step, float(np.sqrt(1 + step**2 / 12)))

    def rejected(self, shift: float, critical: float, *, both_sides: bool) -> float:
        """Chance that the textbook t of the variables moved by ``shift`` lies above ``critical`` > 0.

        t > c if the sum is positive and its square over the sum of squares above m c^2 / (m - 1 + c^2); with
        both sides, if |t| > c.
        """
        shift = shift * self.spread
        moved = self.sums + self.m * shift
        least = self.m * critical**2 / (self.m - 1 + critical**2)
        limits = moved**2 / least - 2 * shift * self.sums - self.m * shift**2
        chances = self._below(limits)
        return float(chances.sum() if both_sides else chances[moved > 0].sum())

    def _below(self, limits: Reals) -> Reals:
        """The chance of each row with Q below its limit; the probability within a bin is uniform."""
        n = self.below.shape[1]
        places = np.clip(limits / self.step + 0.5, 0.0, n)
        bins = np.minimum(places.astype(np.int64), n - 1)
        rows = np.arange(len(limits))
        upper = self.below[rows, bins]
        lower = np.where(bins > 0, self.below[rows, bins - 1], 0.0)
        return lower + (places - bins) * (upper - lower)


def _one(step: float) -> tuple[npt.NDArray[np.int64], Reals]:
    """A Laplace variable of scale one on a lattice: places and probabilities.

    The probability of a place is the mean of a triangular hat function over it: the second difference of a
    twice integrated density.
    """
    n = int(_CUT / step)
    places = np.arange(-n, n + 1, dtype=np.int64)
    edges = step * np.arange(-n - 1, n + 2)
    twice = np.exp(-np.abs(edges)) / 2 + np.maximum(edges, 0.0)
    masses = np.diff(twice, 2) / step
    return places, masses / masses.sum()


def laplace_ratio(epsilon: float, value: float = 1.0, bound: float = 1.0) -> float:
    """By how many scales a record of this value moves an answer of epsilon: a count, or a bounded sum.

    >>> laplace_ratio(0.3), laplace_ratio(0.3, value=-50.0, bound=100.0), laplace_ratio(0.3, 900.0, 100.0)
    (0.3, 0.15, 0.3)
    """
    for name, number in (("epsilon", epsilon), ("bound", bound)):
        if not 0 < number < np.inf:
            raise BadInput(f"{name} must be > 0 and finite, got {number}")
    return float(epsilon * min(abs(value) / bound, 1.0))


def midpoint_laplace(m: npt.ArrayLike, ratio: float) -> Reals:
    """Success of the mean of the answers, cut at half of the value, under Laplace noise: exact.

    >>> midpoint_laplace([10, 29], 0.33).round(3).tolist()
    [0.649, 0.737]
    """
    return threshold_attacks.one_threshold_laplace(m, ratio)


def midpoint_gaussian(m: npt.ArrayLike, ratio: float) -> Reals:
    """The same under Gaussian noise, where no attack does better: Phi(sqrt(m) ratio / 2)."""
    return threshold_attacks.one_threshold_clt(m, ratio)


def midpoint_geometric(m: int, rate: float, shift: int = 1) -> float:
    """The same under two-sided geometric noise, whose probabilities fall by e^-rate per unit: exact.

    The sum of the noise is the difference of two negative binomial variables. A mean exactly at the cut is as
    likely in both worlds: the success is the same whichever way it is decided.

    >>> round(midpoint_geometric(10, 1.0), 4)
    0.8822
    """
    cell = GeometricCell(rate, shift)  # checks both
    if not (m >= 1 and m == int(m)):
        raise BadInput(f"the number of answers must be a whole number >= 1, got {m!r}")
    size = int(m)
    success = -np.expm1(-cell.rate)
    mean, spread = size / np.expm1(cell.rate), np.sqrt(size * (1 - success)) / success
    down = np.arange(int(mean + 12 * spread + 40 / cell.rate) + 1)
    masses = np.exp(
        scipy.special.gammaln(down + size)
        - scipy.special.gammaln(down + 1)
        - scipy.special.gammaln(size)
        + size * np.log(success)
        + scipy.special.xlog1py(down, -success)
    )
    half = size * cell.shift / 2
    least = (np.floor(half) + 1, np.ceil(half))  # of the sums that are wrong: without the tie, and with it
    errors = [masses @ scipy.special.betainc(down + first, size, 1 - success) for first in least]
    return float(1 - np.mean(errors))


def optimum_laplace(m: int, ratio: float) -> tuple[float, float]:
    """Success of the best possible attack, the sum of clipped answers: lower and upper bound.

    >>> [round(bound, 3) for bound in optimum_laplace(10, 1.0)]
    [0.917, 0.917]
    """
    return loss_composition.best_attack([(LaplaceCell(ratio), m)]).accuracy


def optimum_geometric(m: int, rate: float, shift: int = 1) -> tuple[float, float]:
    """The same under two-sided geometric noise, whose probabilities fall by e^-rate per unit."""
    return loss_composition.best_attack([(GeometricCell(rate, shift), m)]).accuracy
