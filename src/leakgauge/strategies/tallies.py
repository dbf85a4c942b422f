"""How often each output came out at each count."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.strategies.symbols import Ints, Symbols


@dataclass(frozen=True)
class Tail:
    """Probabilities of bins that fall evenly with the distance from a middle, which moves with the count."""

    middle: float
    scale: float

    @classmethod
    def of(cls, distances: Reals, masses: Reals) -> "Tail":
        order = np.argsort(distances)
        below = np.cumsum(masses[order])
        middle = float(distances[order][np.searchsorted(below, below[-1] / 2)])
        mean = float(np.abs(distances - middle) @ masses / below[-1])
        return cls(middle, max(mean, 0.5))

    def log_at(self, distances: Reals) -> Reals:
        return np.log(np.tanh(0.5 / self.scale)) - np.abs(distances - self.middle) / self.scale


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts (rows, from ``first_count`` on) x symbols (columns): how often."""

    symbols: Symbols
    first_count: int
    times: Reals

    @classmethod
    def of(cls, symbols: Symbols, counts: Ints, outputs: Reals, ends: tuple[int, int]) -> "Tally":
        """Count pairs; all counts lie between the ends."""
        n_counts = ends[1] - ends[0] + 1
        flat = (counts - ends[0]) * symbols.n + symbols.columns(outputs)
        times = np.bincount(flat.ravel(), minlength=n_counts * symbols.n)
        return cls(symbols, ends[0], times.reshape(n_counts, symbols.n).astype(np.float64))

    @cached_property
    def distances(self) -> Reals:
        """How far each bin lies from each count, in bins."""
        bins = np.arange(self.symbols.n_bins) + self.symbols.first
        counts = np.arange(len(self.times)) + self.first_count
        return (bins - self.symbols.per_count * counts[:, None]).astype(np.float64)

    def by_distance(self, free: Bits) -> tuple[Reals, Reals]:
        """How often each distance was seen, and how often it could have been, among some of the bins."""
        hits, chances = np.zeros((2, self.n_distances))
        for row, times in zip(self.rows, self.times, strict=True):
            hits[row] += times[: free.size] * free
            chances[row] += times.sum() * free
        return hits, chances

    @property
    def n_distances(self) -> int:
        return self.symbols.n_bins + self.symbols.per_count * (len(self.times) - 1)

    @property
    def rows(self) -> list[slice]:
        """For each count, the bins among all distances, which are listed from the least."""
        firsts = self.symbols.per_count * np.arange(len(self.times))[::-1]
        return [slice(first, first + self.symbols.n_bins) for first in firsts.tolist()]

    @cached_property
    def tail(self) -> Tail:
        binned = self.times[:, : self.symbols.n_bins]
        seen = binned > 0
        if not seen.any():
            return Tail(0.0, 1.0)
        return Tail.of(self.distances[seen], binned[seen])

    def log_likelihood(self, law: Reals) -> float:
        """Of what was seen, if this were the law."""
        seen = self.times > 0
        return float(self.times[seen] @ np.log(law[seen]))

    def safe(self, law: Reals, evidence: Reals) -> Reals:
        """Leave a little to the tail, and to every value of its own, so that nothing is impossible."""
        n_atoms = self.symbols.atoms.size
        base = np.zeros(law.shape)
        base[:, : self.symbols.n_bins] = np.exp(self.tail.log_at(self.distances)) * (0.5 if n_atoms else 1.0)
        base[:, self.symbols.n_bins :] = 0.5 / max(n_atoms, 1)
        little = 1 / (evidence[:, None] + 2)
        return (1 - little) * law + little * base
