"""Tests of the noise itself: answers minus true values that the auditor knows, against the stated noise.

All p-values are exact or too large, never too small, where answers are made as stated: true value plus
independent noise, then the stated rounding and clamping. Residuals are an array whose last axis is questions;
``noise`` is one distribution, or one for each question. NaN is an answer that is missing. ``truths`` (of the
shape of the residuals, or one for each question) are needed where answers are clamped, or rounded while true
values are not multiples of the step.

A rejection by a test that ``violates`` means a larger epsilon. All others say only that the mechanism is not
the stated one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.referee.independent_sums import chance_at_least, chance_at_most
from leakgauge.referee.stated_noise import (
    Noises,
    Residuals,
    Rounding,
    RoundingMode,
    StatedNoise,
    decimal_step,
    stated_residuals,
)

CERTAIN = 1e-12  # a smaller p-value needs no error rate
_LEVELS = 16  # points of a score at most
_PER_UNIT = 4  # points for each factor e in the chance to exceed a residual
_CLAMPED = 3  # answers on one end that look like clamping
_NEGATIVE = 14.0  # expected negative answers, of which none has a probability below e^-14
_VISIBLE = 1e-4  # of the noise scale: finer rounding does not matter


@dataclass(frozen=True, kw_only=True)
class NoiseTest:
    """The result of one test: its p-value, and in plain words what a rejection says."""

    name: str
    p_value: float
    finding: str  # a clause without personal values
    violates: bool  # whether a rejection means a larger epsilon, not only another mechanism
    n: int  # residuals or rounds that were counted
    reveals: bool = False  # whether a rejection says that something beside the answers tells the target
    right: int | None = None  # in how many of these rounds somebody who always guesses by it is right
    channel: str = ""  # what that is, such as "refusals"
    fault_p_value: float = 0.0  # what the fault that is looked for would probably give with so many values
    unnoticed: str = ""  # a sentence for where that is not small enough


def too_little_noise(
    residuals: npt.ArrayLike,
    noise: Noises,
    *,
    truths: npt.ArrayLike | None = None,
    rounding: Rounding | None = None,
    clamp: tuple[float, float] | None = None,
) -> NoiseTest:
    """Test whether residuals are smaller than the stated noise makes them.

    Each residual gets a score that rises with its size; the sum has an exact distribution. Rounding to
    decimals, clamping and absolute values that were not stated reveal nothing, so they are allowed for where
    the answers look like it: all multiples of a power of ten, clamped at the smallest and the largest answer,
    or never negative. Clamping only raises the p-value; that correct answers happen to be never negative has
    a probability below a millionth.
    """
    stated = stated_residuals(residuals, noise, truths, rounding, clamp)
    if truths is not None:
        stated = replace(stated, clamp=_seen_range(stated))
        stated = replace(stated, folded=_seem_folded(stated))
    return _size_test(
        stated,
        least=True,
        name="too_little_noise",
        finding="the answers are closer to the true values than the stated noise allows",
    )


def too_much_noise(
    residuals: npt.ArrayLike,
    noise: Noises,
    *,
    truths: npt.ArrayLike | None = None,
    rounding: Rounding | None = None,
    clamp: tuple[float, float] | None = None,
) -> NoiseTest:
    """Test whether residuals are larger than the stated noise makes them; see ``too_little_noise``."""
    return _size_test(
        stated_residuals(residuals, noise, truths, rounding, clamp),
        least=False,
        name="too_much_noise",
        finding="the answers are farther from the true values than the stated noise explains",
    )


def too_many_exact(
    residuals: npt.ArrayLike,
    noise: Noises,
    *,
    truths: npt.ArrayLike | None = None,
    rounding: Rounding | None = None,
    clamp: tuple[float, float] | None = None,
) -> NoiseTest:
    """Test whether whole-number noise is zero more often than stated: answers that are given without noise.

    The number of exact answers is the most powerful test of that. Whatever whole-number noise keeps an
    epsilon, each probability is at least e^-epsilon of the next one, so that zero has at most the probability
    tanh(epsilon / 2): two-sided geometric noise reaches it, and more zeros then mean a larger epsilon. Other
    noise may have more of them without one. Clamping is allowed for as in ``too_little_noise``.
    """
    stated = stated_residuals(residuals, noise, truths, rounding, clamp)
    if truths is not None:
        stated = replace(stated, clamp=_seen_range(stated))
        stated = replace(stated, folded=_seem_folded(stated))
    return _size_test(
        stated,
        least=True,
        name="too_many_exact",
        finding="more answers are exactly the true values than the stated noise allows",
        violates=all(_most_zeros(noise) for noise in stated.noises),
        places=lambda _: np.array([0.5]),
    )


def _most_zeros(noise: StatedNoise) -> bool:
    """Whether noise is zero as often as its epsilon, without delta, allows."""
    beyond = np.exp(noise.log_sf(np.array([0.0, 1.0])))
    zero, one = 1 - 2 * beyond[0], beyond[0] - beyond[1]
    return noise.lattice and bool(np.isclose(zero, (zero - one) / (zero + one), rtol=1e-9))


def _size_test(
    stated: Residuals,
    *,
    least: bool,
    name: str,
    finding: str,
    violates: bool | None = None,
    places: Callable[[StatedNoise], Reals] | None = None,
) -> NoiseTest:
    """A one-sided test of the sizes of residuals; too small ones mean a larger epsilon."""
    scores, chances, counts = _size_scores(
        _with_seen_rounding(stated), least=least, places=places or _score_places
    )
    chance = chance_at_most if least else chance_at_least
    return NoiseTest(
        name=name,
        p_value=chance(chances, counts, scores),
        finding=finding,
        violates=least if violates is None else violates,
        n=int(counts.sum()),
    )


def other_shape(
    residuals: npt.ArrayLike,
    noise: Noises,
    *,
    truths: npt.ArrayLike | None = None,
    rounding: Rounding | None = None,
    clamp: tuple[float, float] | None = None,
) -> NoiseTest:
    """Test whether residuals have the stated distribution at all (Kolmogorov 1933, exact for every n).

    Answers that are impossible as stated (fractions under whole noise, off the step of rounding, outside the
    clamp) have the p-value 0. Where residuals take few values the test is conservative: each stands for an
    interval of probabilities, and the least deviation within all of them counts.
    """
    stated = stated_residuals(residuals, noise, truths, rounding, clamp)
    n = int(stated.seen.sum())
    if (reason := _impossible(stated)) is not None:
        return NoiseTest(name="other_shape", p_value=0.0, finding=reason, violates=False, n=n)
    at_most, below = np.empty((2, *stated.values.shape))
    for answer, here in stated.groups():
        values = stated.values[here]
        margin = 1e-9 * answer.noise.noise_scale + 1e-12 * np.abs(values + stated.truths[here])
        at_most[here] = answer.at_most(values + margin)[1]
        below[here] = 1 - answer.at_least(values - margin)[1]
    folded = truths is not None and _seem_folded(replace(stated, clamp=clamp or _seen_range(stated)))
    seems = (
        ": no answer is negative, as if absolute values were given, or negative answers withheld"
        if folded
        else ""
    )
    return NoiseTest(
        name="other_shape",
        p_value=_kolmogorov(at_most[stated.seen], below[stated.seen]),
        finding=f"the noise does not have the stated distribution{seems}",
        violates=False,
        n=n,
    )


def other_distribution(below: Reals, *, slack: float, finding: str) -> NoiseTest:
    """Test whether values with these probabilities to be at most so large are uniform (Kolmogorov 1933).

    ``slack`` is the numerical error of the probabilities, which only raises the p-value.
    """
    return NoiseTest(
        name="other_shape",
        p_value=_kolmogorov(below + slack, below - slack),
        finding=finding,
        violates=False,
        n=below.size,
    )


def _kolmogorov(at_most: Reals, below: Reals) -> float:
    """The p-value of values, by the probability of smaller ones, and of those that are at most equal."""
    from scipy.stats import kstwo

    n, ranks = at_most.size, np.arange(1, at_most.size + 1)
    up = float(np.max(ranks / n - np.sort(at_most)))
    down = float(np.max(np.sort(below) - (ranks - 1) / n))
    return float(kstwo.sf(max(up, down, 0.0), n))


def holm(p_values: npt.ArrayLike, alpha: float) -> Bits:
    """Which of several tests reject, with at most ``alpha`` chance that any of them errs (Holm 1979).

    >>> holm([0.03, 0.001, 0.02], 0.05).tolist()
    [True, True, True]
    >>> holm([0.04, 0.001, 0.03], 0.05).tolist()
    [False, True, False]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise BadInput(f"p-values must be in [0, 1], got {p.tolist()}")
    order = np.argsort(p, kind="stable")
    passed = np.logical_and.accumulate(p[order] <= alpha / (p.size - np.arange(p.size)))
    rejected = np.zeros(p.size, dtype=bool)
    rejected[order] = passed
    return rejected


def rejected_tests(tests: list[NoiseTest], alpha: float) -> list[NoiseTest]:
    """The tests that reject after Holm's correction, in their order."""
    return [test for test, out in zip(tests, holm([test.p_value for test in tests], alpha)) if out]


def _size_scores(
    stated: Residuals, *, least: bool, places: Callable[[StatedNoise], Reals]
) -> tuple[int, Reals, Ints]:
    """The sum of scores, and the probabilities of each score with the number of residuals.

    A score counts how many distances (``places``) a residual reaches. There are usually 16, which unrounded
    noise exceeds with probability e^(-1/4), e^(-2/4), ...: so for Laplace noise scores are almost
    proportional to sizes, which is the most powerful test of its scale. ``least`` makes scores as small as
    ambiguous rounding permits, so that a small sum is no surprise; otherwise as large.
    """
    total, chances, counts = 0, [], []
    for answer, here in stated.groups():
        distances = places(answer.noise)
        sizes = np.abs(stated.values[here])
        total += int(np.searchsorted(distances, sizes, side="right").sum())
        tails = answer.away(distances)[0 if least else 1]
        chances.append(-np.diff(tails, prepend=1.0, append=0.0))
        counts.append(sizes.size)
    return total, np.maximum(np.array(chances), 0.0), np.array(counts)


@lru_cache(maxsize=1024)
def _score_places(noise: StatedNoise) -> Reals:
    """Distances that noise exceeds with probability e^(-k/4); half-way between whole ones on a lattice."""
    levels = -np.arange(1, _LEVELS + 1) / _PER_UNIT - np.log(2)  # of one side
    low, high = np.zeros(_LEVELS), np.full(_LEVELS, noise.noise_scale)
    while (above := noise.log_sf(high) > levels).any():
        high = np.where(above, 2 * high, high)
    for _ in range(80):
        middle = (low + high) / 2
        above = noise.log_sf(middle) > levels
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.floor(high + 1e-9) + 0.5 if noise.lattice else high


def _seen_range(stated: Residuals) -> tuple[float, float]:
    """The range at whose ends answers seem to be clamped, within the stated one.

    Answers of a clamped range lie on its end more than once, or the answers that are not clamped differ.
    """
    answers, truths = stated.answers[stated.seen], stated.truths[stated.seen]
    least, most = stated.clamp or (-np.inf, np.inf)
    low, high = float(answers.min()), float(answers.max())
    if np.count_nonzero(answers == low) >= _CLAMPED:
        least = max(least, min(low, float(truths.min())))
    if np.count_nonzero(answers == high) >= _CLAMPED:
        most = min(most, max(high, float(truths.max())))
    return least, most


def _seem_folded(stated: Residuals) -> bool:
    """Whether answers seem to be given without their sign: none is negative, where many should be.

    Not where they are clamped at zero, which gives many zeros.
    """
    answers = stated.answers[stated.seen]
    if (answers < 0).any() or (stated.clamp or (-np.inf, np.inf))[0] >= 0:
        return False
    signed = replace(stated, clamp=None, rounding=None)
    n_negative = 0.0
    for answer, here in replace(signed, folded=True).groups():
        below = np.array([-answer.truth - 1e-9 * answer.noise.noise_scale])
        n_negative += replace(answer, folded=False).at_most(below)[0][0] * np.count_nonzero(here)
    return bool(n_negative >= _NEGATIVE)


def _with_seen_rounding(stated: Residuals) -> Residuals:
    """Answers under real-valued noise that are all multiples of a power of ten are taken as rounded."""
    if stated.rounding is not None or stated.lattice:
        return stated
    step = decimal_step(stated.answers, _VISIBLE * stated.least_scale)
    return stated if step is None else replace(stated, rounding=Rounding(step, RoundingMode.ANY))


def _impossible(stated: Residuals) -> str | None:
    answers, truths = stated.answers[stated.seen], stated.truths[stated.seen]
    margin = 1e-9 * max(float(np.abs(answers).max()), float(np.abs(truths).max()), stated.least_scale)
    if stated.clamp is not None:
        low, high = stated.clamp
        if (answers < low - margin).any() or (answers > high + margin).any():
            return "some answers are outside the stated range"
    if stated.rounding is not None and _off_grid(answers / stated.rounding.step, margin):
        return "some answers are not rounded as stated"
    whole = not _off_grid(truths, margin)
    if stated.lattice and stated.rounding is None and whole and _off_grid(answers, margin):
        return "some answers are fractions, while the stated noise takes whole numbers only"
    return None


def _off_grid(multiples: Reals, margin: float) -> bool:
    return bool((np.abs(multiples - np.round(multiples)) > max(1e-6, margin)).any())
