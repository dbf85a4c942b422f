"""Tail probabilities, mean and variance of a published count, exact for every release chain."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms._additive import AdditiveNoise

_ROWS = 256  # counts whose outputs are tabulated at once


@dataclass(frozen=True)
class OutputDistribution:
    """The distribution of a chain's outputs as threshold rules see it.

    Every step after the noise keeps the order of outputs, so that an output reaches a cut where the noisy
    count reaches a place that depends on the cut alone.
    """

    chain: ReleaseChain

    @property
    def whole(self) -> bool:
        return self.chain.whole

    def at_least(self, cuts: Reals, counts: Ints) -> Reals:
        """Chance of an output of at least the cut; the arguments broadcast."""
        low, high = self.chain.lumps_below, self.chain.lumps_above
        places = np.ceil(cuts) if self.whole else np.asarray(cuts)
        if low is not None:
            places = np.maximum(places, low + self.whole)
        chances = np.exp(self.chain.added.log_at_least(places - counts.astype(np.float64)))
        if self.chain.mute:
            chances[:] = 0.0
        if high is not None:
            chances = np.where(cuts > high, 0.0, chances)
        return chances if low is None else np.where(np.less_equal(cuts, 0), 1.0, chances)

    def moments(self, counts: Ints) -> tuple[Reals, Reals]:
        """Mean and variance of the output."""
        if self.chain.mute:
            return np.zeros(counts.shape), np.zeros(counts.shape)
        noise = self.chain.noise
        if self.whole or noise is None:
            return self._whole_moments(counts)
        if self.chain.shift_free:
            _, _, square = noise.partial_moments(np.zeros(1))
            return counts.astype(np.float64), np.full(counts.shape, 2 * float(square[0]))
        return self._lumped_moments(noise, counts)

    def _whole_moments(self, counts: Ints) -> tuple[Reals, Reals]:
        if self.chain.shift_free:
            mean, variance = _moments(*self.chain.table(np.zeros(1, dtype=np.int64)))
            return counts + mean[0], np.full(counts.shape, variance[0])
        parts = [counts[first : first + _ROWS] for first in range(0, counts.size, _ROWS)]
        mean, variance = np.hstack([_moments(*self.chain.table(part)) for part in parts])
        return mean, variance

    def _lumped_moments(self, noise: AdditiveNoise, counts: Ints) -> tuple[Reals, Reals]:
        """Of a noisy count x that is published as 0 up to ``low`` and as ``high`` from there on.

        E x = low P(x > low) + E (x - low)+ - E (x - high)+, and the like for squares.
        """
        low, high = float(self.chain.lumps_below or 0), self.chain.lumps_above
        true = counts.astype(np.float64)
        chance, excess, square = noise.partial_moments(low - true)
        mean = low * chance + excess
        second = low**2 * chance + 2 * low * excess + square
        if high is not None:
            _, excess, square = noise.partial_moments(high - true)
            mean, second = mean - excess, second - square - 2 * high * excess
        return mean, np.maximum(second - mean**2, 0.0)


def _moments(outputs: Reals, law: Reals) -> tuple[Reals, Reals]:
    centre = outputs[outputs.size // 2]  # squares of small numbers
    mean = law @ (outputs - centre)
    return mean + centre, np.maximum(law @ (outputs - centre) ** 2 - mean**2, 0.0)
