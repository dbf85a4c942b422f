"""How often each output of a pipeline was observed at each true count, with outputs put into bins."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals

Ints = npt.NDArray[np.int64]

_FINE = 16  # steps per spread of outputs that are not whole
_RECURRING = 2000  # a value is kept apart if it makes up more than one in so many outputs, ...
_OFTEN = 20  # ... and has recurred so often


@dataclass(frozen=True, eq=False)
class OutputBins:
    """Bins of width ``step`` from ``first * step`` on; after them, ``atoms``, values of their own."""

    step: float  # a power of two, at most 1, so that a count is a whole number of steps
    first: int
    n_bins: int
    atoms: Reals
    whole: bool

    @classmethod
    def of(cls, outputs: Reals, counts: Ints) -> "OutputBins":
        """Choose them for outputs and the counts behind them."""
        atoms, step = np.empty(0), 1.0
        whole = bool((outputs == np.floor(outputs)).all())
        if not whole:
            values, numbers = np.unique(outputs, return_counts=True)
            atoms = values[numbers > max(_OFTEN, outputs.size / _RECURRING)]
            moved = (outputs - counts)[~np.isin(outputs, atoms)]
            low, high = np.quantile(moved, [0.25, 0.75]) if moved.size else (0.0, 1.0)
            step = min(1.0, 2.0 ** np.floor(np.log2(max(high - low, 2.0**-20) / _FINE)))
        bins = np.floor(outputs / step)
        return cls(float(step), int(bins.min()), int(bins.max() - bins.min()) + 1, atoms, whole)

    @property
    def n(self) -> int:
        return self.n_bins + self.atoms.size

    @property
    def per_count(self) -> int:
        """How many bins one more person moves an output."""
        return round(1 / self.step)

    def bins(self, outputs: Reals) -> Ints:
        """The bin of each output, counted from the first; it may lie outside."""
        return (np.floor(outputs / self.step) - self.first).astype(np.int64)

    def atom(self, outputs: Reals) -> Ints:
        """The column of each output that is a value of its own, and -1 for all others."""
        if not self.atoms.size:
            return np.full(outputs.shape, -1)
        place = np.searchsorted(self.atoms, outputs).clip(max=self.atoms.size - 1)
        return np.where(self.atoms[place] == outputs, self.n_bins + place, -1)

    def columns(self, outputs: Reals) -> Ints:
        """The column of each output that lies inside."""
        atom = self.atom(outputs)
        return np.where(atom >= 0, atom, self.bins(outputs))


@dataclass(frozen=True)
class GeometricTail:
    """Probabilities of bins that fall evenly with the distance from a middle, which moves with the count."""

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
    """Counts (rows, from ``first_count`` on) x symbols (columns): how often."""

    symbols: OutputBins
    first_count: int
    times: Reals

    @classmethod
    def of(
        cls, symbols: OutputBins, counts: Ints, outputs: Reals, ends: tuple[int, int]
    ) -> "OutputFrequencies":
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
    def tail(self) -> GeometricTail:
        binned = self.times[:, : self.symbols.n_bins]
        seen = binned > 0
        if not seen.any():
            return GeometricTail(0.0, 1.0)
        return GeometricTail.of(self.distances[seen], binned[seen])

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
