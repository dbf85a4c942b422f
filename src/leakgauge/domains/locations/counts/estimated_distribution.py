"""The output distribution of a user's pipeline, estimated from simulated releases."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.counts.output_frequencies import (
    GeometricTail,
    Ints,
    OutputBins,
    OutputFrequencies,
)

_PSEUDO = 2.0  # observations that a guess is worth where others move with the count
_NEAR = 6  # neighbouring counts that are asked
_ENOUGH = 100.0  # a neighbour with more observations weighs no more
_NEIGHBOURS = 20.0  # observations that the guess of the neighbours is worth
_ODD = 5.0  # standard deviations at which a value does not follow from moving
_ATTEMPTS = 50  # at finding such values


def fit_shift_distribution(tally: OutputFrequencies, lumps: Ints) -> Reals:
    """A law that moves with the count, but for values that do not follow from this.

    P(distance) is how often a distance was seen among all the times it could have been. Values far more or
    far less frequent than that are taken out, starting with ``lumps``; what would fall on them, or outside,
    is shared out among those of them that occur, as often as they do near the count.
    """
    free = np.ones(tally.symbols.n_bins, dtype=bool)
    free[lumps[lumps < free.size]] = False
    for _ in range(_ATTEMPTS):
        hits, chances = tally.by_distance(free)
        rates = np.divide(hits, chances, out=np.zeros(hits.size), where=chances > 0)
        expected = tally.times.sum(axis=1) @ np.array([rates[row] for row in tally.rows])
        observed = tally.times[:, : free.size].sum(axis=0)
        odd = np.abs(observed - expected) > _ODD * np.sqrt(expected + 1)
        odd &= (observed > 2 * expected) | (observed < expected / 2)
        if not (free & odd).any():
            break
        free &= ~odd
    completed = _completed(tally, hits, chances)
    return _with_lumps(tally, np.array([completed[row] for row in tally.rows]) * free)


def fit_per_count(tally: OutputFrequencies, share: float) -> Reals:
    """A law for each count, smoothed by those of its neighbours: a share as they stand, the rest moved."""
    numbers = tally.times.sum(axis=1, keepdims=True)
    stand, move = _neighbours(tally, moved=False), _neighbours(tally, moved=True)
    guess = share * stand + (1 - share) * move
    known = guess.sum(axis=1, keepdims=True)
    guess = np.divide(guess, known, out=np.zeros(guess.shape), where=known > 0)
    law = tally.times + _NEIGHBOURS * guess
    total = law.sum(axis=1, keepdims=True)
    return np.divide(law, total, out=np.zeros(law.shape), where=(total > 0) & (numbers + known > 0))


def _completed(tally: OutputFrequencies, hits: Reals, chances: Reals) -> Reals:
    """Probabilities of all distances; those that never had a chance get what is left, shaped as the tail."""
    first = tally.symbols.first - tally.symbols.per_count * (tally.first_count + len(tally.times) - 1)
    guess = np.exp(tally.tail.log_at(first + np.arange(hits.size, dtype=np.float64)))
    rates = (hits + _PSEUDO * guess) / (chances + _PSEUDO)
    hidden = chances == 0
    left = max(1 - float(rates[~hidden].sum()), 0.0)
    outside = max(1 - float(guess.sum()), 0.0)  # beyond all distances of the table
    rates[hidden] = guess[hidden] * left / max(float(guess[hidden].sum()) + outside, 1e-300)
    return rates / max(1.0, float(rates.sum()))


def _with_lumps(tally: OutputFrequencies, free_law: Reals) -> Reals:
    """Share out what is missing among the other values that occur."""
    law = np.zeros(tally.times.shape)
    law[:, : tally.symbols.n_bins] = free_law
    lumps = (law.max(axis=0) == 0) & (tally.times.sum(axis=0) > 0)
    if not lumps.any():
        return law / law.sum(axis=1, keepdims=True)
    own = tally.times * lumps
    guess = _neighbours(OutputFrequencies(tally.symbols, tally.first_count, own), moved=False)
    guess += 1e-9 * own.sum(axis=0)
    shares = own + _NEIGHBOURS * guess / guess.sum(axis=1, keepdims=True)
    law += np.maximum(1 - law.sum(axis=1, keepdims=True), 0.0) * shares / shares.sum(axis=1, keepdims=True)
    return law / law.sum(axis=1, keepdims=True)


def _neighbours(tally: OutputFrequencies, *, moved: bool) -> Reals:
    """What was seen at counts nearby, the nearer the more it weighs; bins moved by their distance, or not."""
    n_counts, n_bins = len(tally.times), tally.symbols.n_bins
    near = np.zeros(tally.times.shape)
    numbers = tally.times.sum(axis=1, keepdims=True)
    capped = tally.times * np.minimum(1.0, _ENOUGH / np.maximum(numbers, 1.0))
    for gap in [*range(-_NEAR, 0), *range(1, _NEAR + 1)]:
        shift = -gap * tally.symbols.per_count if moved else 0
        if abs(gap) >= n_counts or abs(shift) >= n_bins:
            continue
        rows, columns = _overlap(n_counts, -gap), _overlap(n_bins, shift)
        theirs = 0.5 ** abs(gap) * capped[_overlap(n_counts, gap)]
        near[rows, columns] += theirs[:, _overlap(n_bins, -shift)]
        near[rows, n_bins:] += theirs[:, n_bins:]
    return near


def _overlap(n: int, shift: int) -> slice:
    """The part of n places that a move by ``shift`` leaves covered."""
    return slice(max(0, shift), n + min(0, shift))


_LEAST = 100  # pairs
_SHARES = (1.0, 0.5, 0.0)
_ENTRIES = 2**22  # of a table, at most, ...
_FEW, _COUNTS = 50, 500  # ... over so many counts, at least and at most


@dataclass(frozen=True, eq=False)
class EstimatedDistribution:
    """P(output | count) as a table; beyond it, a tail that falls evenly with the distance from the count.

    Outputs that are not whole are seen in steps of a power of two, about a sixteenth of their spread; values
    that recur exactly (from a clamp, or suppression) are kept apart. For counts beyond those of the shadows,
    and beyond the 500 least of them, the law of the nearest one is moved.
    """

    symbols: OutputBins
    first_count: int
    table: Reals  # logs of probabilities: counts x symbols
    tail: GeometricTail
    log_rest: float  # how much of the tail lies beyond the table

    @classmethod
    def of(cls, counts: npt.ArrayLike, outputs: npt.ArrayLike) -> "EstimatedDistribution":
        """Estimate from shadows: rows are releases, columns cells; all cells are taken to have the same law.

        Two ways are tried, learned from every other row and judged by the likelihood of the rows between.
        Either outputs move with the count, but for values that take up what is clamped or suppressed; or each
        count has a law of its own, smoothed by those of its neighbours.
        """
        true, seen = np.asarray(counts, dtype=np.int64), np.asarray(outputs, dtype=np.float64)
        if true.shape != seen.shape or not np.isfinite(seen).all() or seen.size < _LEAST:
            raise BadInput(
                f"the law of a pipeline needs {_LEAST} finite outputs or more, each with its count; "
                f"got {seen.size} for {true.size}"
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
        """Outputs that this law tells apart: the lower ends of bins, and values of their own."""
        lower = np.floor(outputs / self.symbols.step) * self.symbols.step
        return np.where(self.symbols.atom(outputs) >= 0, outputs, lower)

    def log_law(self, outputs: npt.ArrayLike, counts: npt.ArrayLike) -> Reals:
        """Log probability of outputs (of values of their own), or log density, given counts."""
        seen, true = np.broadcast_arrays(
            np.asarray(outputs, dtype=np.float64), np.asarray(counts, dtype=np.int64)
        )
        rows = np.clip(true - self.first_count, 0, len(self.table) - 1)
        beyond = true - self.first_count - rows
        atom, bins = self.symbols.atom(seen), self.symbols.bins(seen) - self.symbols.per_count * beyond
        inside = (bins >= 0) & (bins < self.symbols.n_bins)
        found = self.table[rows, np.where(atom >= 0, atom, np.where(inside, bins, 0))]
        distances = self.symbols.bins(seen) + self.symbols.first - self.symbols.per_count * true
        rest = self.log_rest + self.tail.log_at(distances.astype(np.float64))
        law = np.where(inside, found, rest) - np.log(self.symbols.step)
        law = np.where(atom >= 0, found, law)
        return np.where(seen == np.floor(seen), law, -np.inf) if self.whole else law


def _truncated_counts(counts: Ints, outputs: Reals) -> tuple[Ints, Reals, OutputBins]:
    """Take the largest counts for smaller ones, outputs moved along, until a table holds all."""
    most = _COUNTS
    while True:
        excess = np.maximum(counts - int(counts.min()) - most + 1, 0)
        true, seen = counts - excess, outputs - np.where(outputs == 0, 0, excess)
        symbols = OutputBins.of(seen.ravel(), true.ravel())
        if most <= _FEW or symbols.n * most <= _ENTRIES:
            return true, seen, symbols
        most = max(_FEW, _ENTRIES // symbols.n)


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
