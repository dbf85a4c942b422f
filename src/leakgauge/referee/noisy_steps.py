"""Tests of steps that each add Gaussian noise to a known vector: the noise, and guesses about a canary.

A step releases a sum of vectors of length at most 1 (the clip) plus Gaussian noise with standard deviation
``sigma`` in every coordinate. A canary, a vector of length at most 1, is added to the sum or not. All
p-values are exact or too large, never too small, if every step has at least the stated noise, independent of
the past. Later sums may depend on earlier noise, as those of a training do.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtr, chdtrc, chdtri, ndtr, ndtri, stdtr
from scipy.stats import binom

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.referee.intervals import rate_high
from leakgauge.referee.noise_tests import NoiseTest

MIDDLE = 0.5  # between no canary and a canary of length 1: the threshold of every guess
_NO_NOISE = 1e-8  # squared, over the stated: rounding alone
_CLOSEST = 1e-12  # a smaller chance of a direction is taken for this one


@dataclass(frozen=True, kw_only=True)
class NoiseSize:
    """The squared length of the noise of some steps, over the squared stated standard deviation."""

    squares: float
    coordinates: int  # of all steps together

    @property
    def ratio(self) -> float:
        """The standard deviation over the stated one, as seen."""
        return float(np.sqrt(self.squares / self.coordinates))

    def largest_ratio(self, error: float) -> float:
        """An upper confidence bound of that ratio."""
        return float(np.sqrt(self.squares / chdtri(self.coordinates, 1 - error)))


def less_noise(size: NoiseSize, *, name: str, finding: str, violates: bool) -> NoiseTest:
    """Test whether the noise is smaller than stated: its squared length has a chi-square distribution."""
    p_value = float(chdtr(size.coordinates, size.squares))
    return NoiseTest(name=name, p_value=p_value, finding=finding, violates=violates, n=size.coordinates)


def weakest_step(squares: Reals, coordinates: Ints, *, violates: bool) -> NoiseTest:
    """Test whether any one step has less noise than stated: the smallest p-value, times their number."""
    p_values = chdtr(coordinates, squares)
    none = squares <= _NO_NOISE * coordinates
    worst = int(np.argmin(p_values))
    seen = np.sqrt(squares[worst] / coordinates[worst])
    return NoiseTest(
        name="weakest_step",
        p_value=float(min(1.0, p_values[worst] * p_values.size)),
        finding=f"{none.sum():,} of {none.size:,} steps add no noise"
        if none.any()
        else f"one of the steps adds less noise than accounted: {seen:.2g} of it",
        violates=violates,
        n=p_values.size,
    )


def more_noise(size: NoiseSize) -> NoiseTest:
    """Test whether the noise is larger than stated."""
    return NoiseTest(
        name="too_much_noise",
        p_value=float(chdtrc(size.coordinates, size.squares)),
        finding="the steps add more noise than is stated",
        violates=False,
        n=size.coordinates,
    )


def correlated_noise(cosines: Reals, coordinates: Ints, size: NoiseSize) -> NoiseTest:
    """Test whether the noise of a step depends on that of the step before.

    ``cosines`` are those of the angles between them. The direction of independent Gaussian noise is uniform,
    whatever its size, so that each cosine has a known distribution (that of Student's t, rescaled) and does
    not depend on the others. It is a violation where the part that the step before does not predict is
    smaller than the stated noise: an attacker who knows the other gradients knows the noise of the step
    before.
    """
    degrees = coordinates - 1.0
    tails = stdtr(degrees, -np.abs(cosines) * np.sqrt(degrees / np.maximum(1 - cosines**2, 1e-15)))
    normal = np.sign(cosines) * -ndtri(np.maximum(tails, _CLOSEST))
    total = float(normal.sum() / np.sqrt(max(normal.size, 1)))
    seen = float(cosines.mean()) if cosines.size else 0.0
    return NoiseTest(
        name="correlated_noise",
        p_value=float(2 * ndtr(-abs(total))),
        finding=f"the noise of a step is correlated with that of the step before ({seen:+.2g}), so that a "
        "part of it is known",
        violates=size.ratio**2 * (1 - seen**2) < 1,
        n=normal.size,
    )


def step_guesses(members: Bits, scores: Reals, sigma: float) -> NoiseTest:
    """Test guesses about a canary that a fresh fair coin adds to each step or not.

    ``scores`` are the component of the noisy sum, without all the others, along the canary, in lengths of the
    canary. Given the past, each guess is right with probability at most Phi(1 / (2 sigma)): right guesses are
    dominated by a binomial number, though later steps depend on earlier noise.
    """
    right = int(((scores >= MIDDLE) == members).sum())
    return NoiseTest(
        name="step_guesses",
        p_value=float(binom.sf(right - 1, members.size, ndtr(1 / (2 * sigma)))),
        finding=f"a canary in a step is recognised {right / max(members.size, 1):.1%} of the time, and the "
        f"noise that the claim needs allows {ndtr(1 / (2 * sigma)):.1%}: the step adds less noise than "
        "accounted",
        violates=True,
        n=members.size,
    )


def step_rates(members: Bits, scores: Reals, sigma: float) -> NoiseTest:
    """Test the same guesses where one coin decides about all steps of a training.

    Steps are then independent given the coin only, so that each world is counted for itself: the rates of
    errors are bounded from above (Clopper and Pearson 1934, half of the error each), and the trade-off of
    Gaussian noise, which is concave, must allow both means. Each guess is from its own step alone.
    """
    said = scores >= MIDDLE
    n_members, n_others = int(members.sum()), int((~members).sum())
    missed, accused = int((members & ~said).sum()), int((~members & said).sum())

    def rejects(error: float) -> bool:
        return shift_bound(missed, n_members, accused, n_others, error) > 1 / sigma

    p_value = 1.0
    if n_members and n_others and rejects(1 - 1e-9):
        low, high = -700.0, 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if rejects(float(np.exp(middle))) else (middle, high)
        p_value = float(np.exp(high))
    shift = shift_bound(missed, n_members, accused, n_others, 0.05) if n_members and n_others else 0.0
    return NoiseTest(
        name="step_rates",
        p_value=p_value,
        finding=f"a canary moves a step by {shift:.3g} standard deviations of its noise or more, and the "
        f"noise that the claim needs allows {1 / sigma:.3g}: the step adds less noise than accounted",
        violates=True,
        n=members.size,
    )


def shift_bound(missed: int, n_members: int, accused: int, n_others: int, error: float) -> float:
    """Lower confidence bound of the shift between the two worlds, in standard deviations of the noise."""
    found, false = 1 - rate_high(missed, n_members, error / 2), rate_high(accused, n_others, error / 2)
    return float(ndtri(found) - ndtri(false))
