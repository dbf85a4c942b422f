"""How often each output of a pipeline was observed at each true count, with outputs put into bins."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals

Ints = npt.NDArray[np.int64]

_STEPS_PER_SPREAD = 16  # bins per interquartile range of outputs that are not whole
_MAX_ATOM_RARITY = 2000  # a value is kept separately if it makes up more than 1 in 2000 outputs ...
_MIN_ATOM_TIMES = 20  # ... and occurs more than 20 times


@dataclass(frozen=True, eq=False)
class OutputBins:
    """Bins of width ``step`` from ``first * step`` on, followed by ``atoms``: values kept separately."""

    step: float  # a power of two, at most 1, so that a count is a whole number of steps
    first: int
    n_bins: int
    atoms: Reals
    whole: bool

    @classmethod
    def of(cls, outputs: Reals, counts: Ints) -> "OutputBins":
        """Choose bins and atoms for outputs and their true counts."""
        atoms, step = np.empty(0), 1.0
        whole = bool((outputs == np.floor(outputs)).all())
        if not whole:
            values, numbers = np.unique(outputs, return_counts=True)
            atoms = values[numbers > max(_MIN_ATOM_TIMES, outputs.size / _MAX_ATOM_RARITY)]
            moved = (outputs - counts)[~np.isin(outputs, atoms)]
            low, high = np.quantile(moved, [0.25, 0.75]) if moved.size else (0.0, 1.0)
            step = min(1.0, 2.0 ** np.floor(np.log2(max(high - low, 2.0**-20) / _STEPS_PER_SPREAD)))
        bins = np.floor(outputs / step)
        return cls(float(step), int(bins.min()), int(bins.max() - bins.min()) + 1, atoms, whole)

    @property
    def n(self) -> int:
        return self.n_bins + self.atoms.size

    @property
    def per_count(self) -> int:
        """The number of bins by which one more person shifts an output."""
        return round(1 / self.step)

    def bins(self, outputs: Reals) -> Ints:
        """Return the bin of each output, counted from the first; it may lie outside the table."""
        return (np.floor(outputs / self.step) - self.first).astype(np.int64)

    def atom(self, outputs: Reals) -> Ints:
        """Return the column of each output that is an atom, and -1 for all others."""
        if not self.atoms.size:
            return np.full(outputs.shape, -1)
        place = np.searchsorted(self.atoms, outputs).clip(max=self.atoms.size - 1)
        return np.where(self.atoms[place] == outputs, self.n_bins + place, -1)

    def columns(self, outputs: Reals) -> Ints:
        """Return the column of each output inside the table."""
        atom = self.atom(outputs)
        return np.where(atom >= 0, atom, self.bins(outputs))


@dataclass(frozen=True)
class GeometricTail:
    """Probabilities of bins that fall geometrically with the distance from a middle relative to the count."""

    middle: float
    scale: float

    @classmethod
    def of(cls, distances: Reals, masses: Reals) -> "GeometricTail":
        order = np.argsort(distances)
        below = np.cumsum(masses[order])
        middle = float(distances[order][np.searchsorted(below, below[-1] / 2)])
        mean = float(np.abs(distances - middle) @ masses / below[-1])
        return cls(middle, max(mean, 0.5))

    def log_at(self, distances: Reals) -> Reals:
        return np.log(np.tanh(0.5 / self.scale)) - np.abs(distances - self.middle) / self.scale


@dataclass(frozen=True, eq=False)
class OutputFrequencies:
    """How often each symbol (column) was observed at each count (row, from ``first_count`` on)."""

    symbols: OutputBins
    first_count: int
    times: Reals

    @classmethod
    def of(
        cls, symbols: OutputBins, counts: Ints, outputs: Reals, ends: tuple[int, int]
    ) -> "OutputFrequencies":
        """Count pairs of count and output; all counts lie between the ends."""
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
        """Return how often each distance was observed, and how often it was possible, among some bins."""
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
        """For each count, the slice of its bins among all distances in ascending order."""
        firsts = self.symbols.per_count * np.arange(len(self.times))[::-1]
        return [slice(first, first + self.symbols.n_bins) for first in firsts.tolist()]

    @cached_property
    def tail(self) -> GeometricTail:
        binned = self.times[:, : self.symbols.n_bins]
        seen = binned > 0
        if not seen.any():
            return GeometricTail(0.0, 1.0)
        return GeometricTail.of(self.distances[seen], binned[seen])

    def log_likelihood(self, law: Reals) -> float:
        """Return the log-likelihood of the observations under a distribution."""
        seen = self.times > 0
        return float(self.times[seen] @ np.log(law[seen]))

    def safe(self, law: Reals, evidence: Reals) -> Reals:
        """Mix in a small share of the tail and of every atom, so that no output is impossible."""
        n_atoms = self.symbols.atoms.size
        base = np.zeros(law.shape)
        base[:, : self.symbols.n_bins] = np.exp(self.tail.log_at(self.distances)) * (0.5 if n_atoms else 1.0)
        base[:, self.symbols.n_bins :] = 0.5 / max(n_atoms, 1)
        share = 1 / (evidence[:, None] + 2)
        return (1 - share) * law + share * base
