"""Patterns of bits, drawn whole."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.special import expit

from leakgauge.core.game import Reals

_WIDTH = 64  # of one random number


@dataclass(frozen=True, eq=False)
class Patterns:
    """A law over 2^bits patterns, one random number each (Walker 1977; Vose 1991).

    The first bits of the number choose a column; the others, as a fraction, whether it is the pattern of the
    same number or the column's other one. So every probability is a multiple of 2^-64.
    """

    bits: int
    limits: npt.NDArray[np.uint64]  # numbers below it take the column's own pattern
    choices: npt.NDArray[np.int64]  # the other pattern of each column and its own, in turn

    def draw(self, shape: tuple[int, ...], rng: Generator) -> npt.NDArray[np.int64]:
        numbers = rng.integers(0, 2**_WIDTH, size=shape, dtype=np.uint64)
        columns = (numbers >> np.uint64(_WIDTH - self.bits)).view(np.int64)
        own = numbers < self.limits.take(columns, mode="clip")  # nothing is clipped, but that mode is fast
        columns <<= 1
        columns |= own
        return self.choices.take(columns, mode="clip")

    @property
    def probabilities(self) -> Reals:
        """The law that is drawn from."""
        starts = np.arange(self.limits.size, dtype=np.uint64) << np.uint64(_WIDTH - self.bits)
        own = (self.limits - starts) / 2.0 ** (_WIDTH - self.bits)
        return (own + np.bincount(self.choices[::2], 1 - own, own.size)) / own.size


@lru_cache(64)
def patterns(log_odds: tuple[float, ...]) -> Patterns:
    """Independent bits, each 1 with these log odds; the first is the most significant."""
    law = np.ones(1)
    for odds in log_odds:
        law = np.outer(law, [expit(-odds), expit(odds)]).ravel()
    own, other = _columns(law / law.sum())
    room = 2 ** (_WIDTH - len(log_odds))  # numbers of each column
    limits = [min(i * room + int(part * room), 2**_WIDTH - 1) for i, part in enumerate(own.tolist())]
    choices = np.stack([other, np.arange(law.size)], axis=1).ravel()
    return Patterns(len(log_odds), np.array(limits, dtype=np.uint64), choices)


def _columns(law: Reals) -> tuple[Reals, npt.NDArray[np.int64]]:
    """Fill columns of equal size, each with its own pattern and with part of one that has too much."""
    own, other = law * law.size, np.arange(law.size)
    small, large = list(np.flatnonzero(own < 1)), list(np.flatnonzero(own >= 1))
    left = own.copy()
    while small and large:
        little, much = small.pop(), large[-1]
        own[little], other[little] = left[little], much
        left[much] -= 1 - left[little]
        if left[much] < 1:
            small.append(large.pop())
    own[small + large] = 1.0  # what is left is whole but for rounding
    return own, other
