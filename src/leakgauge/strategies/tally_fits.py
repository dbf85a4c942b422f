"""Two ways to make a law of how often each output came out at each count."""

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.symbols import Ints
from leakgauge.strategies.tallies import Tally

_PSEUDO = 2.0  # observations that a guess is worth where others move with the count
_NEAR = 6  # neighbouring counts that are asked
_ENOUGH = 100.0  # a neighbour with more observations weighs no more
_NEIGHBOURS = 20.0  # observations that the guess of the neighbours is worth
_ODD = 5.0  # standard deviations at which a value does not follow from moving
_ATTEMPTS = 50  # at finding such values


def moving(tally: Tally, lumps: Ints) -> Reals:
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


def standing(tally: Tally, share: float) -> Reals:
    """A law for each count, smoothed by those of its neighbours: a share as they stand, the rest moved."""
    numbers = tally.times.sum(axis=1, keepdims=True)
    stand, move = _neighbours(tally, moved=False), _neighbours(tally, moved=True)
    guess = share * stand + (1 - share) * move
    known = guess.sum(axis=1, keepdims=True)
    guess = np.divide(guess, known, out=np.zeros(guess.shape), where=known > 0)
    law = tally.times + _NEIGHBOURS * guess
    total = law.sum(axis=1, keepdims=True)
    return np.divide(law, total, out=np.zeros(law.shape), where=(total > 0) & (numbers + known > 0))


def _completed(tally: Tally, hits: Reals, chances: Reals) -> Reals:
    """Probabilities of all distances; those that never had a chance get what is left, shaped as the tail."""
    first = tally.symbols.first - tally.symbols.per_count * (tally.first_count + len(tally.times) - 1)
    guess = np.exp(tally.tail.log_at(first + np.arange(hits.size, dtype=np.float64)))
    rates = (hits + _PSEUDO * guess) / (chances + _PSEUDO)
    hidden = chances == 0
    left = max(1 - float(rates[~hidden].sum()), 0.0)
    outside = max(1 - float(guess.sum()), 0.0)  # beyond all distances of the table
    rates[hidden] = guess[hidden] * left / max(float(guess[hidden].sum()) + outside, 1e-300)
    return rates / max(1.0, float(rates.sum()))


def _with_lumps(tally: Tally, free_law: Reals) -> Reals:
    """Share out what is missing among the other values that occur."""
    law = np.zeros(tally.times.shape)
    law[:, : tally.symbols.n_bins] = free_law
    lumps = (law.max(axis=0) == 0) & (tally.times.sum(axis=0) > 0)
    if not lumps.any():
        return law / law.sum(axis=1, keepdims=True)
    own = tally.times * lumps
    guess = _neighbours(Tally(tally.symbols, tally.first_count, own), moved=False)
    guess += 1e-9 * own.sum(axis=0)
    shares = own + _NEIGHBOURS * guess / guess.sum(axis=1, keepdims=True)
    law += np.maximum(1 - law.sum(axis=1, keepdims=True), 0.0) * shares / shares.sum(axis=1, keepdims=True)
    return law / law.sum(axis=1, keepdims=True)


def _neighbours(tally: Tally, *, moved: bool) -> Reals:
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
