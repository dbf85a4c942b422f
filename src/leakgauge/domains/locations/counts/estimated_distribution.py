"""The output distribution of a user's pipeline, estimated from the outputs in simulated releases."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput

Ints = npt.NDArray[np.int64]

_STEPS_PER_SPREAD = 16  # bins per interquartile range of outputs that are not whole
_MAX_ATOM_RARITY = 2000  # a value is kept separately if it makes up more than 1 in 2000 outputs ...
_MIN_ATOM_TIMES = 20  # ... and occurs more than 20 times
_TAIL_WEIGHT = 2.0  # weight of the geometric tail, in observations, when outputs shift with the count
_N_NEIGHBOURS = 6  # neighbouring counts used on either side
_MAX_NEIGHBOUR_WEIGHT = 100.0  # more observations of a neighbour do not raise its weight
_NEIGHBOUR_WEIGHT = 20.0  # weight of all neighbours, in observations
_MAX_DEVIATIONS = 5.0  # standard deviations beyond which a value is not explained by a shift
_MAX_PASSES = 50  # over the values, to find those that are not
_MIN_PAIRS = 100  # of count and output
_SHARES = (1.0, 0.5, 0.0)
_MAX_ENTRIES = 2**22  # of a table
_MIN_COUNTS, _MAX_COUNTS = 50, 500  # counts in a table


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


def fit_shift_distribution(tally: OutputFrequencies, lumps: Ints) -> Reals:
    """Fit a distribution that shifts with the count, except for some values.

    P(distance) is the relative frequency of a distance among the cases in which it was possible. Values that
    are far more or less frequent than this predicts are excluded, starting with ``lumps``. The probability
    that falls on them, or outside, is distributed over the excluded values that occur, by their frequency
    near the count.
    """
    free = np.ones(tally.symbols.n_bins, dtype=bool)
    free[lumps[lumps < free.size]] = False
    for _ in range(_MAX_PASSES):
        hits, chances = tally.by_distance(free)
        rates = np.divide(hits, chances, out=np.zeros(hits.size), where=chances > 0)
        expected = tally.times.sum(axis=1) @ np.array([rates[row] for row in tally.rows])
        observed = tally.times[:, : free.size].sum(axis=0)
        odd = np.abs(observed - expected) > _MAX_DEVIATIONS * np.sqrt(expected + 1)
        odd &= (observed > 2 * expected) | (observed < expected / 2)
        if not (free & odd).any():
            break
        free &= ~odd
    completed = _completed(tally, hits, chances)
    return _with_lumps(tally, np.array([completed[row] for row in tally.rows]) * free)


def fit_per_count(tally: OutputFrequencies, share: float) -> Reals:
    """Fit a distribution for each count, smoothed by its neighbours: ``share`` unmoved, the rest shifted."""
    numbers = tally.times.sum(axis=1, keepdims=True)
    unmoved, moved_along = _neighbours(tally, moved=False), _neighbours(tally, moved=True)
    guess = share * unmoved + (1 - share) * moved_along
    known = guess.sum(axis=1, keepdims=True)
    guess = np.divide(guess, known, out=np.zeros(guess.shape), where=known > 0)
    law = tally.times + _NEIGHBOUR_WEIGHT * guess
    total = law.sum(axis=1, keepdims=True)
    return np.divide(law, total, out=np.zeros(law.shape), where=(total > 0) & (numbers + known > 0))


def _completed(tally: OutputFrequencies, hits: Reals, chances: Reals) -> Reals:
    """Return probabilities of all distances; those never possible get the rest, in the shape of the tail."""
    first = tally.symbols.first - tally.symbols.per_count * (tally.first_count + len(tally.times) - 1)
    guess = np.exp(tally.tail.log_at(first + np.arange(hits.size, dtype=np.float64)))
    rates = (hits + _TAIL_WEIGHT * guess) / (chances + _TAIL_WEIGHT)
    hidden = chances == 0
    left = max(1 - float(rates[~hidden].sum()), 0.0)
    outside = max(1 - float(guess.sum()), 0.0)  # beyond all distances of the table
    rates[hidden] = guess[hidden] * left / max(float(guess[hidden].sum()) + outside, 1e-300)
    return rates / max(1.0, float(rates.sum()))


def _with_lumps(tally: OutputFrequencies, free_law: Reals) -> Reals:
    """Distribute the missing probability over the other values that occur."""
    law = np.zeros(tally.times.shape)
    law[:, : tally.symbols.n_bins] = free_law
    lumps = (law.max(axis=0) == 0) & (tally.times.sum(axis=0) > 0)
    if not lumps.any():
        return law / law.sum(axis=1, keepdims=True)
    own = tally.times * lumps
    guess = _neighbours(OutputFrequencies(tally.symbols, tally.first_count, own), moved=False)
    guess += 1e-9 * own.sum(axis=0)
    shares = own + _NEIGHBOUR_WEIGHT * guess / guess.sum(axis=1, keepdims=True)
    law += np.maximum(1 - law.sum(axis=1, keepdims=True), 0.0) * shares / shares.sum(axis=1, keepdims=True)
    return law / law.sum(axis=1, keepdims=True)


def _neighbours(tally: OutputFrequencies, *, moved: bool) -> Reals:
    """Return frequencies at nearby counts, weighted by nearness; shifted by their distance if ``moved``."""
    n_counts, n_bins = len(tally.times), tally.symbols.n_bins
    near = np.zeros(tally.times.shape)
    numbers = tally.times.sum(axis=1, keepdims=True)
    capped = tally.times * np.minimum(1.0, _MAX_NEIGHBOUR_WEIGHT / np.maximum(numbers, 1.0))
    for gap in [*range(-_N_NEIGHBOURS, 0), *range(1, _N_NEIGHBOURS + 1)]:
        shift = -gap * tally.symbols.per_count if moved else 0
        if abs(gap) >= n_counts or abs(shift) >= n_bins:
            continue
        rows, columns = _overlap(n_counts, -gap), _overlap(n_bins, shift)
        theirs = 0.5 ** abs(gap) * capped[_overlap(n_counts, gap)]
        near[rows, columns] += theirs[:, _overlap(n_bins, -shift)]
        near[rows, n_bins:] += theirs[:, n_bins:]
    return near


def _overlap(n: int, shift: int) -> slice:
    """Return the part of n places that is still covered after a shift."""
    return slice(max(0, shift), n + min(0, shift))


@dataclass(frozen=True, eq=False)
class EstimatedDistribution:
    """P(output | count) as a table, with a geometric tail beyond it.

    Outputs that are not whole are put into bins whose width is a power of two, about a sixteenth of their
    spread; values that recur exactly (from clamping or suppression) are kept separately. For counts beyond
    those of the shadows, or beyond the 500 smallest, the distribution of the nearest count is shifted.
    """

    symbols: OutputBins
    first_count: int
    table: Reals  # logs of probabilities: counts x symbols
    tail: GeometricTail
    log_rest: float  # log of the probability of the tail beyond the table

    @classmethod
    def of(cls, counts: npt.ArrayLike, outputs: npt.ArrayLike) -> "EstimatedDistribution":
        """Estimate from shadows, releases x cells; all cells are assumed to have the same distribution.

        Two kinds of fit are tried on every other row and compared by the likelihood of the remaining rows.
        Either outputs shift with the count, except for values that clamping or suppression produces; or each
        count has its own distribution, smoothed by its neighbours.
        """
        true, seen = np.asarray(counts, dtype=np.int64), np.asarray(outputs, dtype=np.float64)
        if true.shape != seen.shape or not np.isfinite(seen).all() or seen.size < _MIN_PAIRS:
            raise BadInput(
                f"a pipeline's distribution needs {_MIN_PAIRS} finite outputs or more, each with its count, "
                f"got {seen.size} outputs for {true.size} counts; publish more cells, all finite"
            )
        true, seen, symbols = _truncated_counts(true, seen)
        ends = int(true.min()), int(true.max())
        halves = [OutputFrequencies.of(symbols, true[start::2], seen[start::2], ends) for start in (0, 1)]
        whole = OutputFrequencies(symbols, ends[0], halves[0].times + halves[1].times)
        fits = _candidate_fits(whole)
        merits = [halves[1].log_likelihood(fit(halves[0])) for fit in fits]
        law = fits[int(np.argmax(merits))](whole)
        return cls(symbols, ends[0], np.log(law), whole.tail, -np.log(seen.size + 2.0))

    @property
    def whole(self) -> bool:
        return self.symbols.whole

    def coarse(self, outputs: Reals) -> Reals:
        """Return the lower ends of the outputs' bins; separate values stay as they are."""
        lower = np.floor(outputs / self.symbols.step) * self.symbols.step
        return np.where(self.symbols.atom(outputs) >= 0, outputs, lower)

    def log_law(self, outputs: npt.ArrayLike, counts: npt.ArrayLike) -> Reals:
        """Return the log density of outputs given counts, or the log probability of separate values."""
        seen, true = np.broadcast_arrays(
            np.asarray(outputs, dtype=np.float64), np.asarray(counts, dtype=np.int64)
        )
        rows = np.clip(true - self.first_count, 0, len(self.table) - 1)
        beyond = true - self.first_count - rows
        atom, bins = self.symbols.atom(seen), self.symbols.bins(seen) - self.symbols.per_count * beyond
        inside = (bins >= 0) & (bins < self.symbols.n_bins)
        logs = self.table[rows, np.where(atom >= 0, atom, np.where(inside, bins, 0))]
        distances = self.symbols.bins(seen) + self.symbols.first - self.symbols.per_count * true
        rest = self.log_rest + self.tail.log_at(distances.astype(np.float64))
        law = np.where(inside, logs, rest) - np.log(self.symbols.step)
        law = np.where(atom >= 0, logs, law)
        return np.where(seen == np.floor(seen), law, -np.inf) if self.whole else law


def _truncated_counts(counts: Ints, outputs: Reals) -> tuple[Ints, Reals, OutputBins]:
    """Lower the largest counts, and their outputs by as much, until the table is small enough."""
    most = _MAX_COUNTS
    while True:
        excess = np.maximum(counts - int(counts.min()) - most + 1, 0)
        true, seen = counts - excess, outputs - np.where(outputs == 0, 0, excess)
        symbols = OutputBins.of(seen.ravel(), true.ravel())
        if most <= _MIN_COUNTS or symbols.n * most <= _MAX_ENTRIES:
            return true, seen, symbols
        most = max(_MIN_COUNTS, _MAX_ENTRIES // symbols.n)


def _candidate_fits(tally: OutputFrequencies) -> list[Callable[[OutputFrequencies], Reals]]:
    most = np.array([int(tally.times.sum(axis=0).argmax())])
    lumps = [np.empty(0, dtype=np.int64), most]
    return [
        *(partial(_smoothed_shift_fit, lumps=start) for start in lumps),
        *(partial(_smoothed_per_count_fit, share=s) for s in _SHARES),
    ]


def _smoothed_shift_fit(tally: OutputFrequencies, lumps: Ints) -> Reals:
    return tally.safe(fit_shift_distribution(tally, lumps), np.full(len(tally.times), tally.times.sum()))


def _smoothed_per_count_fit(tally: OutputFrequencies, share: float) -> Reals:
    return tally.safe(fit_per_count(tally, share), tally.times.sum(axis=1))
