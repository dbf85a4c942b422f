"""Test whether noise is used more than once: in several questions or rounds, or from a small store."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.referee.independent_sums import chance_at_least
from leakgauge.referee.noise_tests import NoiseTest
from leakgauge.referee.stated_noise import (
    Noises,
    Residuals,
    Rounding,
    StatedAnswer,
    binary_step,
    decimal_step,
    stated_residuals,
)

REUSED = "reused_noise"  # the name of the test
_FINEST = 1e-12  # of decimals that are recognised
_MOST_ROUNDS = 2_000  # compared with each other
_STEPS = 200  # in which the chance of a repeated value rises
_TESTS = 4


@dataclass(frozen=True)
class _Resolution:
    """How close residuals must be to count as equal, and how likely that is for independent noise."""

    margin: float
    pair: Reals  # the largest chance that two residuals of each question are equal
    value: float  # the largest chance of any one value

    def among(self, kept: float) -> "_Resolution":
        """The chances for answers that were kept by their value: at most so much larger."""
        return _Resolution(
            self.margin, np.minimum(1.0, self.pair / kept**2), float(min(1.0, self.value / kept))
        )


def reused_noise(
    residuals: npt.ArrayLike,
    noise: Noises,
    *,
    truths: npt.ArrayLike | None = None,
    rounding: Rounding | None = None,
    clamp: tuple[float, float] | None = None,
    answers: npt.ArrayLike | None = None,
    kept: float = 1.0,
) -> NoiseTest:
    """Test whether answers to different questions, or in different rounds, have the same noise.

    ``residuals`` are rounds x questions. Leave out questions that a stated cache answers again: there the
    same noise is right. Equal residuals are counted in four ways: the same two questions over all rounds,
    whole rounds against each other, each round against the next, and values that occurred before. Each count
    has an exact bound from the chance that independent noise agrees, on whole numbers or on the grid of the
    answers, and the smallest p-value counts four times. Under real-valued noise a few equal values are
    certain evidence (below 1e-12). ``answers`` as they were given show their grid; residuals plus true values
    differ from them in their last bits where true values are fractions. ``kept`` is the share of answers that
    are compared, where some were left out by their value, as at the ends of a range.
    """
    stated = stated_residuals(residuals, noise, truths, rounding, clamp)
    if stated.values.ndim != 2:
        raise BadInput(f"residuals must be rounds x questions, got {stated.values.ndim} dimension(s)")
    given = stated.answers if answers is None else np.asarray(answers, dtype=np.float64)
    grid = _resolution(stated, given).among(kept)
    p_values = (
        _same_questions(stated.values, grid),
        _same_rounds(stated.values, grid),
        _next_rounds(stated.values, grid),
        _repeated_values(stated.values, grid),
    )
    return NoiseTest(
        name=REUSED,
        p_value=min(1.0, _TESTS * min(p_values)),
        finding="the same noise is in several answers, so that their difference is free of noise",
        violates=True,
        n=int(stated.seen.sum()),
    )


def _same_questions(values: Reals, grid: _Resolution) -> float:
    """Two questions whose noise agrees in many rounds; the best pair, corrected for their number."""
    from scipy.stats import binom

    pairs = list(combinations(range(values.shape[1]), 2))
    least = 1.0
    for first, second in pairs:
        apart = np.abs(values[:, first] - values[:, second])
        equal, n = int((apart <= grid.margin).sum()), int(np.isfinite(apart).sum())
        chance = float(np.sqrt(grid.pair[first] * grid.pair[second]))  # Cauchy and Schwarz
        least = min(least, float(binom.sf(equal - 1, n, chance)))
    return min(1.0, least * max(len(pairs), 1))


def _same_rounds(values: Reals, grid: _Resolution) -> float:
    """Two rounds whose noise agrees in many questions; the best pair, corrected for their number."""
    from scipy.stats import binom

    values = values[:_MOST_ROUNDS]
    n, n_questions = values.shape
    if n < 2:
        return 1.0
    equal = np.zeros((n, n), dtype=np.int32)
    for column in values.T:
        equal += np.abs(column[:, None] - column) <= grid.margin
    most = int(equal[np.triu_indices(n, 1)].max())
    return min(1.0, float(binom.sf(most - 1, n_questions, grid.pair.max())) * n * (n - 1) / 2)


def _next_rounds(values: Reals, grid: _Resolution) -> float:
    """Rounds 1 and 2, 3 and 4, ... with the same noise in a question."""
    n = values.shape[0] // 2 * 2
    if not n:
        return 1.0
    apart = np.abs(values[0:n:2] - values[1:n:2])
    equal, counts = int((apart <= grid.margin).sum()), np.isfinite(apart).sum(axis=0)
    return chance_at_least(np.column_stack([1 - grid.pair, grid.pair]), counts, equal)


def _repeated_values(values: Reals, grid: _Resolution) -> float:
    """Values that occurred before, anywhere: value i repeats one with a chance of at most (i - 1) value."""
    seen = np.sort(values[np.isfinite(values)])
    repeats = int((np.diff(seen) <= grid.margin).sum())
    earlier = np.arange(seen.size)
    if grid.value * seen.size > 1 or seen.size < 2:
        return 1.0
    blocks = [block for block in np.array_split(earlier, _STEPS) if block.size]
    chances = np.minimum(1.0, np.array([block[-1] for block in blocks]) * grid.value)
    counts = np.array([block.size for block in blocks])
    return chance_at_least(np.column_stack([1 - chances, chances]), counts, repeats)


def _resolution(stated: Residuals, given: Reals) -> _Resolution:
    """Find the grid of the answers, stated or seen, and the chances on it."""
    answers = given[stated.seen]
    largest = max(float(np.abs(answers).max()), float(np.abs(stated.truths[stated.seen]).max()))
    float_margin = 16 * np.finfo(float).eps * max(largest, stated.least_scale)
    step = 1.0 if stated.lattice and stated.rounding is None else 0.0
    if stated.rounding is not None:
        step = stated.rounding.step
    elif not stated.lattice:
        step = max(binary_step(answers), decimal_step(answers, _FINEST) or 0.0)
    step = max(step, float_margin)
    rounding = stated.rounding or (None if stated.lattice else Rounding(step))
    margin = max(float_margin, 1e-3 * step)
    pairs, value = np.zeros(stated.values.shape[1]), 0.0
    for answer, here in replace(stated, rounding=rounding).groups():
        pair, most = _agreement(answer, step, margin)
        value = max(value, most)
        asked = here.any(axis=0)
        pairs[asked] = np.maximum(pairs[asked], pair)
    return _Resolution(margin, pairs, value)


def _agreement(answer: StatedAnswer, step: float, margin: float) -> tuple[float, float]:
    """The chance that two answers agree, and the largest chance of a single answer.

    On a fine grid both are bounded by the chance near zero, where the stated noise is most likely.
    """
    cells = answer.cells(step)
    if cells.size:
        return float(cells @ cells), float(cells.max())
    near = 1e-3 * answer.noise.noise_scale
    log_both = np.log(2) + answer.noise.log_sf(np.array([near]))[0]
    density = 1.01 * float(-np.expm1(min(log_both, 0.0))) / (2 * near)
    single = min(1.0, max(step, 2 * margin) * density)
    if answer.clamp is None:
        return single, single
    ends = [answer.at_most(np.array([answer.clamp[0] - answer.truth]))[1][0]]
    ends.append(answer.at_least(np.array([answer.clamp[1] - answer.truth]))[1][0])
    return float(min(1.0, single + np.sum(np.square(ends)))), float(max(single, *ends))
