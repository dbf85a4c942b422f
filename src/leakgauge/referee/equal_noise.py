"""Whether noise that should be independent is exactly the same: in two questions, or in two sessions."""

import math
from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Bits, Reals
from leakgauge.referee.stated_noise import StatedNoise

_FINEST = 2.0**-40  # of the noise scale: what finer answers could tell does not matter
_FEW = 64  # answers that tell most steps to be wrong
_CLOSE = 1e-9  # of the noise scale: floating point makes equal noise differ by less
_DECIMALS = 10
_ROUND = 1e-6  # from a whole number of thousandths
_ENOUGH = 5  # large values that show a step of their own; fewer have gaps by chance
_REACH = 2_000  # of whole-number noise whose chances are added up
_STAKES = (0.9, 0.8, 0.7, 0.6, *2.0 ** -np.arange(1.0, 16.0))  # shares of what a session may cost


@dataclass(frozen=True, kw_only=True)
class EqualNoise:
    """How many of some pairs of residuals are equal, and the chance of so many under the stated noise."""

    n_equal: int
    n_pairs: int
    p_value: float


def equal_noise(
    first: Reals, second: Reals, noise: StatedNoise, answers: Reals, kept: float = 1.0
) -> EqualNoise:
    """Count equal residuals in pairs that are independent of each other; NaN is a pair that is missing.

    Two independent residuals are equal with at most the largest probability of one value. Answers that are
    all multiples of a step, by rounding that was stated or not, take as many values as there are steps.
    ``kept`` is the share of answers that are compared, where some were left out by their value.
    """
    from scipy.stats import binom

    seen = np.isfinite(first) & np.isfinite(second)
    gap = np.abs(first[seen] - second[seen])
    close = _CLOSE * noise.noise_scale
    n_equal, n_pairs = int((gap <= close).sum()), int(seen.sum())
    chance = min(1.0, largest_chance(noise, max(grid_step(answers, noise.noise_scale), 4 * close)) / kept)
    return EqualNoise(
        n_equal=n_equal,
        n_pairs=n_pairs,
        p_value=float(binom.sf(n_equal - 1, n_pairs, chance)) if n_pairs else 1.0,
    )


def p_value_of_sessions(shares: Reals, chance: float) -> float:
    """The chance of such large shares in independent sessions, whatever depends on what within a session.

    In each session a share of ``chance`` at most is expected. Who bets on more in one session after another,
    at fair odds, multiplies the stake by 1 / p with a chance of at most p (Ville 1939); the stake is divided
    over several bets. Answers that a session repeats are so no more evidence than one.
    """
    shares = shares[np.isfinite(shares)]
    if not 0 < chance < 1:
        return 1.0
    stakes = np.array(_STAKES)[:, None]
    gains = np.log1p(stakes * (shares / chance - 1)).sum(axis=1)
    best = float(gains.max())
    return min(1.0, float(np.exp(-best) / np.exp(gains - best).mean()))


def largest_chance(noise: StatedNoise, step: float) -> float:
    """The most that the chance of one value can be: noise is symmetric, and most likely about zero."""
    if noise.lattice:
        step = max(step, 1.0)
        beyond = np.exp(noise.log_sf(np.array([(step - 1) // 2])))[0]
        return float(1 - 2 * beyond)
    return float(1 - 2 * np.exp(noise.log_sf(np.array([step / 2])))[0])


def chances_of_whole_numbers(noise: StatedNoise) -> Reals:
    """The chances of the whole numbers around zero, as far as they are added up."""
    beyond = np.exp(noise.log_sf(np.arange(_REACH + 1, dtype=np.float64)))
    above = -np.diff(beyond)
    return np.concatenate([above[::-1], [1 - 2 * beyond[0]], above])


def most_chance_of_equal(chances: Reals) -> float:
    """The most that the chance of two equal values can be, from the chances of whole numbers around zero.

    Noise of a large scale reaches beyond these numbers. Each number out there is at most as probable as the
    last one here, because noise is most likely about zero.
    """
    beyond = max(0.0, 1.0 - float(chances.sum()))
    return min(1.0, float(chances @ chances) + beyond * float(chances[[0, -1]].max()))


@dataclass(frozen=True, eq=False)
class WholeNumbersBetween:
    """Answers with whole-number noise strictly between two ends."""

    low: int
    high: int
    chances: Reals  # of the noise, about zero in the middle

    @classmethod
    def ends_of(cls, answers: Reals, noise: StatedNoise) -> "WholeNumbersBetween | None":
        """Between the smallest and the largest of some answers; None if the noise is not whole."""
        seen = answers[np.isfinite(answers)]
        if not noise.lattice or not seen.size:
            return None
        return cls(math.ceil(seen.min()), math.floor(seen.max()), chances_of_whole_numbers(noise))

    def reaches(self, truths: Reals) -> bool:
        """Whether the chances of all answers with these true values are known, and some are possible."""
        reach = self.chances.size // 2
        far = max(abs(end - truth) for end in (self.low, self.high) for truth in (truths.min(), truths.max()))
        return self.high - self.low > 1 and far <= reach and bool((truths == np.rint(truths)).all())

    def chance_of_equal(self, first: float, second: float) -> float:
        """How probable two answers with these true values are equal."""
        laws = [self._of_answers(int(truth)) for truth in (first, second)]
        return float(laws[0] @ laws[1])

    def _of_answers(self, truth: int) -> Reals:
        middle = self.chances.size // 2 - truth
        inside = self.chances[middle + self.low + 1 : middle + self.high]
        total = inside.sum()
        return inside / total if total > 0 else np.ones_like(inside)


def grid_step(answers: Reals, scale: float) -> float:
    """The largest power of ten, or else of two, up to 1, of which all answers are multiples."""
    answers = answers[np.isfinite(answers)]
    for step in (*10.0 ** -np.arange(_DECIMALS), *2.0 ** -np.arange(1.0, 41.0)):
        if _are_multiples(answers[:_FEW], step) and _are_multiples(answers, step):
            return float(step)
    return _FINEST * scale


def _are_multiples(answers: Reals, step: float) -> bool:
    multiples = answers / step
    return np.allclose(multiples, np.round(multiples), rtol=0.0, atol=1e-4)


def unexplained_step(answers: Reals, noise: StatedNoise, stated_step: float | None) -> float | None:
    """The step of answers that are rounded more than is stated or taken for granted; None usually.

    Equal answers are then no sign of equal noise: to tens, to multiples of 0.25, to halves but never to whole
    numbers, or to two digits, so that large answers have a larger step than small ones.
    """
    values = np.unique(answers[np.isfinite(answers)])
    known = stated_step or (1.0 if noise.lattice else grid_step(values, noise.noise_scale))
    sizes = np.abs(values)
    large = values[sizes > np.median(sizes)] if values.size else values
    for part in (values, large if large.size >= _ENOUGH else values):
        step = _common_step(part, 1e-3 * noise.noise_scale, on_grid=known >= 1e-3 * noise.noise_scale)
        if step is not None and step > 1.5 * known:
            return step
    return None


def _common_step(values: Reals, least: float, *, on_grid: bool) -> float | None:
    """The smallest gap of sorted values, if all are multiples of it, or are on another grid anyway."""
    if values.size < 2:
        return None
    step = float(np.diff(values).min())
    multiples = values / step
    even = on_grid or np.abs(multiples - np.rint(multiples)).max() < 1e-6
    return step if step > least and even else None


def off_extremes(answers: Reals) -> Bits:
    """Which answers are not the smallest or largest of all: many are equal there if a service clamps."""
    seen = answers[np.isfinite(answers)]
    if not seen.size:
        return np.zeros(answers.shape, dtype=bool)
    return np.isfinite(answers) & (answers > seen.min()) & (answers < seen.max())


def are_no_clamps(answers: Reals) -> Bits:
    """Which answers are no ends of a range that somebody has chosen: neither whole thousandths nor 1/1024ths.

    >>> are_no_clamps(np.array([0.0, 2.5, 0.001, 1 / 3, np.nan])).tolist()
    [False, False, False, True, False]
    """
    multiples = answers[..., None] * np.array([1000.0, 1024.0])
    return np.asarray((np.abs(multiples - np.rint(multiples)) > _ROUND).all(axis=-1))
