"""The coins by which visitors first enter a group; they decide how long a draw takes, never its law."""

from dataclasses import dataclass
from math import erf, exp, pi, sqrt

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

Words = npt.NDArray[np.uint64]

_MOST_COINS = 6
# Nanoseconds, roughly: one coin of a visitor, counting a visitor, one try to let somebody in or out.
_COIN, _COUNT, _TRY = 0.05, 0.1, 12.0


@dataclass(frozen=True, order=True)
class Entry:
    """Every visitor enters every group with chance ``wins / 2**coins``, independently."""

    coins: int
    wins: int

    @property
    def chance(self) -> float:
        return self.wins / 2**self.coins

    def words(self, shape: tuple[int, int], rng: Generator) -> Words:
        """Words of 64 independent bits, each set with the chance of entry.

        Fair bits, read as a binary fraction, fall below the chance with that very chance. They are compared
        from the last place to the first, 64 fractions at a time.

        >>> Entry(1, 1).words((1, 1), np.random.default_rng(0)).dtype
        dtype('uint64')
        """
        if self.coins == 0:
            return np.full(shape, 2**64 - 1 if self.wins else 0, np.uint64)
        words = np.zeros(shape, np.uint64)
        for place in range(self.coins):
            tosses = rng.integers(0, 2**64 - 1, size=shape, dtype=np.uint64, endpoint=True)
            if self.wins >> place & 1:
                words |= tosses
            else:
                words &= tosses
        return words

    def nanoseconds(self, n_visitors: int, share: float) -> float:
        """About how long one group takes of which this share of the visitors are to be members."""
        spread = sqrt(n_visitors * (self.chance * (1 - self.chance) + share * (1 - share))) + 1e-9
        lack = n_visitors * (share - self.chance)
        density = exp(-0.5 * (lack / spread) ** 2) / sqrt(2 * pi)
        to_let_in = lack * (1 + erf(lack / spread / sqrt(2))) / 2 + spread * density
        tries = to_let_in / max(1 - share, 1e-9) + (to_let_in - lack) / max(share, 1e-9)
        return n_visitors * (_COUNT + _COIN * self.coins) * (self.coins > 0) + _TRY * tries


def quickest(n_visitors: int, share: float) -> Entry:
    """The entry from which groups with this share of the visitors are reached soonest."""
    options = [Entry(0, 0), Entry(0, 1)]
    rounded = (Entry(coins, round(share * 2**coins)) for coins in range(1, _MOST_COINS + 1))
    options += [entry for entry in rounded if 0 < entry.chance < 1]
    return min(options, key=lambda entry: (entry.nanoseconds(n_visitors, share), entry))
