"""The exact distribution of an answer minus the true value: stated noise, then stated rounding and clamping.

A service answers clamp(round(true value + noise)). Residuals are answers minus true values, which the auditor
knows. All tests of ``noise_tests`` rest on the tails given here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput

_WHOLE = 1e-9  # how far from a whole number floating point may be
_MOST_CELLS = 100_000


class StatedNoise(Protocol):
    """Noise symmetric about zero, with the logarithms of its tails; ``AdditiveNoise`` is one."""

    @property
    def lattice(self) -> bool:
        """Whether noise and true values are whole numbers."""
        ...

    @property
    def noise_scale(self) -> float: ...

    def log_cdf(self, distances: Reals) -> Reals: ...

    def log_sf(self, distances: Reals) -> Reals:
        """Log probability of noise above each distance."""
        ...

    def __hash__(self) -> int: ...


Noises: TypeAlias = StatedNoise | Sequence[StatedNoise]


class RoundingMode(StrEnum):
    """Where a value between two multiples of a step goes."""

    NEAREST = "nearest"
    DOWN = "down"
    UP = "up"
    ANY = "any"  # not known: tests allow for all of them


@dataclass(frozen=True)
class Rounding:
    """Rounding of answers to multiples of a step. Ties are not specified: tests allow for both ways."""

    step: float = 1.0
    mode: RoundingMode = RoundingMode.NEAREST


@dataclass(frozen=True, kw_only=True, eq=False)
class StatedAnswer:
    """How answers with one true value and one noise distribution are made."""

    noise: StatedNoise
    truth: float = 0.0
    rounding: Rounding | None = None
    clamp: tuple[float, float] | None = None
    folded: bool = False  # whether the answer is given without its sign

    def at_least(self, distances: Reals) -> tuple[Reals, Reals]:
        """Lower and upper bounds of P(residual >= distance); they differ only where rounding is ambiguous."""
        low = high = self._noise_from(distances, inclusive=True)
        if self.rounding is not None:
            step = self.rounding.step
            above = step * np.ceil((self.truth + distances) / step - _WHOLE) - self.truth
            match self.rounding.mode:
                case RoundingMode.NEAREST:
                    high = self._noise_from(above - step / 2, inclusive=True)
                    low = self._noise_from(above - step / 2, inclusive=False)
                case RoundingMode.DOWN:
                    low = high = self._noise_from(above, inclusive=True)
                case RoundingMode.UP:
                    low = high = self._noise_from(above - step, inclusive=False)
                case RoundingMode.ANY:
                    low = self._noise_from(above, inclusive=True)
                    high = self._noise_from(above - step, inclusive=False)
        if self.clamp is not None:
            answers, (least, most) = self.truth + distances, self.clamp
            margin = _WHOLE * max(self.noise.noise_scale, abs(self.truth))
            low, high = (
                np.where(answers <= least + margin, 1.0, np.where(answers > most + margin, 0.0, chance))
                for chance in (low, high)
            )
        return low, high

    def at_most(self, distances: Reals) -> tuple[Reals, Reals]:
        """Lower and upper bounds of P(residual <= distance): the mirror image, for the noise is symmetric."""
        flipped = {RoundingMode.DOWN: RoundingMode.UP, RoundingMode.UP: RoundingMode.DOWN}
        rounding = self.rounding and replace(
            self.rounding, mode=flipped.get(self.rounding.mode, self.rounding.mode)
        )
        clamp = None if self.clamp is None else (-self.clamp[1], -self.clamp[0])
        mirrored = replace(self, truth=-self.truth, rounding=rounding, clamp=clamp)
        return mirrored.at_least(-distances)

    def away(self, distances: Reals) -> tuple[Reals, Reals]:
        """Lower and upper bounds of P(|residual| >= distance), for distances above zero."""
        if self.folded:
            return self._away_folded(distances)
        (low, high), (low_below, high_below) = self.at_least(distances), self.at_most(-distances)
        return low + low_below, np.minimum(high + high_below, 1.0)

    def _away_folded(self, distances: Reals) -> tuple[Reals, Reals]:
        """The same for the size of an answer: far above the truth with either sign, or near zero."""
        signed, truth = replace(self, folded=False), abs(self.truth)
        above, mirrored = signed.at_least(distances), signed.at_most(-2 * truth - distances)
        below, beyond = signed.at_most(-distances), signed.at_most(distances - 2 * truth)
        near = [np.where(distances <= truth, np.maximum(below[i] - beyond[1 - i], 0.0), 0.0) for i in (0, 1)]
        low, high = (above[i] + mirrored[i] + near[i] for i in (0, 1))
        return low, np.minimum(high, 1.0)

    def cells(self, step: float) -> Reals:
        """The probabilities of all answers, where they are multiples of a step; empty if there are too many.

        Where the direction of rounding is not known, to the nearest.
        """
        reach = _reach(self.noise)
        n = int(np.ceil(reach / step)) + 1
        if n > _MOST_CELLS:
            return np.empty(0)
        rounding = None if self.noise.lattice and step == 1 else Rounding(step)
        if self.rounding is not None and self.rounding.mode is not RoundingMode.ANY:
            rounding = self.rounding
        places = step * (np.round(self.truth / step) + np.arange(-n, n + 2) - 0.5) - self.truth
        tails = replace(self, rounding=rounding).at_least(places)[1]
        tails[0], tails[-1] = 1.0, 0.0
        return -np.diff(tails)

    def _noise_from(self, distances: Reals, *, inclusive: bool) -> Reals:
        if self.noise.lattice:
            distances = np.ceil(distances - _WHOLE) - 1 if inclusive else np.floor(distances + _WHOLE)
        return np.exp(self.noise.log_sf(np.asarray(distances, dtype=np.float64)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Residuals:
    """Residuals (the last axis is questions), and how the answers that they belong to should be made."""

    values: Reals
    noises: tuple[StatedNoise, ...]  # one, or one for each question
    truths: Reals
    rounding: Rounding | None
    clamp: tuple[float, float] | None
    folded: bool = False

    @property
    def answers(self) -> Reals:
        return self.values + self.truths

    @property
    def seen(self) -> Bits:
        """Where there is an answer."""
        return np.isfinite(self.values)

    @property
    def least_scale(self) -> float:
        return min(noise.noise_scale for noise in self.noises)

    @property
    def lattice(self) -> bool:
        return all(noise.lattice for noise in self.noises)

    def groups(self) -> Iterator[tuple[StatedAnswer, Bits]]:
        """Each noise and true value that occur, and where."""
        numbers = np.broadcast_to(np.arange(len(self.noises)), self.values.shape)
        matter = self.rounding is not None or self.clamp is not None or self.folded
        truths = self.truths if matter else np.zeros_like(self.truths)
        for number, noise in enumerate(self.noises):
            here = self.seen & (numbers == number if len(self.noises) > 1 else True)
            for truth in np.unique(truths[here]).tolist():
                answer = StatedAnswer(
                    noise=noise,
                    truth=truth,
                    rounding=self.rounding,
                    clamp=self.clamp,
                    folded=self.folded,
                )
                yield answer, here & (truths == truth)


def stated_residuals(
    residuals: npt.ArrayLike,
    noise: Noises,
    truths: npt.ArrayLike | None,
    rounding: Rounding | None,
    clamp: tuple[float, float] | None,
) -> Residuals:
    """Check what a test is given. Answers that are missing are NaN."""
    values = np.atleast_1d(np.asarray(residuals, dtype=np.float64))
    noises = tuple(noise) if isinstance(noise, Sequence) else (noise,)
    if len(noises) not in (1, values.shape[-1]):
        raise BadInput(
            f"{len(noises)} noise distributions for {values.shape[-1]} questions; pass one, or one each"
        )
    if truths is None and clamp is not None:
        raise BadInput("clamped answers: the true values are needed; pass truths")
    if clamp is not None and not clamp[0] < clamp[1]:
        raise BadInput(f"clamp must be a lower and a higher value, got {clamp}")
    if rounding is not None and not 0 < rounding.step < np.inf:
        raise BadInput(f"the step of rounding must be > 0 and finite, got {rounding.step}")
    if not np.isfinite(values).any():
        raise BadInput("there is no residual to test; pass at least one answer")
    known = np.zeros_like(values) if truths is None else np.asarray(truths, dtype=np.float64)
    return Residuals(
        values=values,
        noises=noises,
        truths=np.broadcast_to(known, values.shape),
        rounding=rounding,
        clamp=clamp,
    )


def decimal_step(answers: Reals, least: float) -> float | None:
    """The power of ten, not below ``least``, of which all answers are multiples; None where there is none.

    A service that rounds without saying so is found by this: real-valued noise would not give it in ten
    answers.
    """
    answers = answers[np.isfinite(answers)]
    if answers.size < 10:
        return None
    step = 1.0
    while step >= least:
        multiples = answers / step
        if (np.abs(multiples - np.round(multiples)) <= 1e-3).all():
            return step
        step /= 10
    return None


def binary_step(answers: Reals) -> float:
    """The largest power of two, at most 1, of which all answers are multiples."""
    answers = answers[np.isfinite(answers)]
    mantissas, exponents = np.frexp(answers)
    whole = (np.abs(mantissas) * 2.0**53).astype(np.int64)
    trailing = np.where(whole == 0, 2000, np.log2(np.maximum(whole & -whole, 1)) + exponents - 53)
    return float(2.0 ** min(0.0, float(trailing.min(initial=0.0))))


def _reach(noise: StatedNoise) -> float:
    """A distance that noise exceeds with a probability below 1e-17."""
    distance = noise.noise_scale
    while noise.log_sf(np.array([distance]))[0] > np.log(1e-17):
        distance *= 1.3
    return float(distance)
