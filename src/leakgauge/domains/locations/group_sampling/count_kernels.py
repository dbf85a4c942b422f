"""Count the visits of groups, and read counts: loops compiled by numba where it is installed, or numpy."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput

Array = npt.NDArray[Any]
Whole = npt.NDArray[Any]  # of integers
Kernel = Callable[..., None]

_AT_ONCE = 1 << 21  # visits, or counts, held in temporary arrays
_MANY = 16  # groups of more than 1/16 of all people are counted in the order of the data


class Kernels(NamedTuple):
    """The compiled loops; each gives the result of its numpy counterpart, sums of scores but for rounding."""

    add_visits: Kernel
    tally: Kernel
    flip_members: Kernel
    sum_scores: Callable[..., bool]
    sum_squares: Kernel
    sum_counts: Kernel


@cache
def kernels() -> Kernels | None:
    """The compiled loops; None if numba is not installed or its compiler is disabled.

    Random numbers are drawn outside the loops, so the groups are the same without numba, only slower.
    """
    try:
        import numba
    except ImportError:
        return None
    if numba.config.DISABLE_JIT:
        return None
    loops = (add_visits, tally, flip_members, sum_scores, sum_squares)
    any_order = {"reassoc", "nsz"}  # of the terms of a sum: several are added at a time
    return Kernels(
        *[
            *(_compile(numba.njit, loop) for loop in loops),
            _compile(numba.njit, sum_counts, fastmath=any_order),
        ]
    )


def _compile(njit: Any, loop: Callable[..., Any], **options: Any) -> Any:
    """Compile a loop, cached on disk for the next process where possible."""
    try:
        return njit(loop, cache=True, **options)
    except RuntimeError:  # no folder to write to: compile again in every process
        return njit(loop, **options)


def add_visits(people: Array, starts: Array, cells: Array, counts: Array) -> None:
    """Add the visits of each round's people to its counts; -1 stands for no person."""
    for round_ in range(people.shape[0]):
        for person in people[round_]:
            if person < 0:
                continue
            for visit in range(starts[person], starts[person + 1]):
                counts[round_, cells[visit]] += 1


def tally(words: Array, starts: Array, visitors: Array, counts: Array) -> None:
    """Count, for 64 rounds per word, how many of each column's visitors have their bit set.

    Eight shifted copies of a word hold each bit in a byte of its own; up to 255 of them add up without carry.
    """
    ones = np.uint64(0x0101010101010101)
    byte = np.uint64(255)
    sums = np.zeros((words.shape[1], 8), np.uint64)
    for column in range(starts.size - 1):
        for first in range(starts[column], starts[column + 1], 255):
            sums[:] = 0
            for visit in range(first, min(first + 255, starts[column + 1])):
                visitor = visitors[visit]
                for place in range(words.shape[1]):
                    word = words[visitor, place]
                    for shift in range(8):
                        sums[place, shift] += (word >> np.uint64(shift)) & ones
            for place in range(words.shape[1]):
                for shift in range(8):
                    for lane in range(8):
                        some = (sums[place, shift] >> np.uint64(8 * lane)) & byte
                        counts[64 * place + 8 * lane + shift, column] += np.int32(some)


def flip_members(
    words: Array,
    need: Array,
    rounds: Array,
    tries: Array,
    starts: Array,
    columns: Array,
    counts: Array,
) -> None:
    """Add (need > 0) or remove (need < 0) visitors, trying them in order until the need is met."""
    one = np.uint64(1)
    for i in range(rounds.size):
        round_ = rounds[i]
        place, bit = round_ >> 6, one << np.uint64(round_ & 63)
        left = abs(need[round_])
        step = 1 if need[round_] > 0 else -1
        unfit = bit if step > 0 else np.uint64(0)
        for k in range(tries.shape[0]):
            if left == 0:
                break
            visitor = tries[k, i]
            if words[visitor, place] & bit == unfit:
                continue
            words[visitor, place] ^= bit
            left -= 1
            for visit in range(starts[visitor], starts[visitor + 1]):
                counts[round_, columns[visit]] += step
        need[round_] = left * step


def sum_scores(
    releases: Array,
    scores: Array,
    first: Array,
    n_columns: np.uint64,
    low: int,
    places: Array,
    epochs: Array,
) -> bool:
    """Sum the scores of all published counts by place and by epoch; False if one is not in the table.

    Column 0 of a table of whole outputs is ``low``; the row of a cell starts at ``first`` in ``scores``.
    """
    n_epochs = epochs.shape[1]
    for round_ in range(releases.shape[0]):
        for place in range(places.shape[1]):
            total = 0.0
            cells = slice(place * n_epochs, (place + 1) * n_epochs)
            outputs, rows, sums = releases[round_, cells], first[cells], epochs[round_]
            for epoch in range(n_epochs):
                column = np.uint64(np.int64(outputs[epoch]) - low)  # very large if it is negative
                if column >= n_columns:
                    return False
                score = scores[rows[epoch] + column]
                total += score
                sums[epoch] += score
            places[round_, place] = total
    return True


def sum_squares(starts: Array, cells: Array, places: Array, epochs: Array) -> None:
    """Add the squares of each person's numbers of visits to each place, and in each epoch."""
    n_epochs, share = epochs.size, 1 / epochs.size
    at_place, in_epoch = np.zeros(places.size, np.int64), np.zeros(n_epochs, np.int64)
    for person in range(starts.size - 1):
        visits = cells[starts[person] : starts[person + 1]]
        for step in (1, -1):  # the square of n is the sum of 1/2, 3/2, ... twice: up and down again
            for cell in visits:
                place = np.int64((cell + 0.5) * share)  # faster than a division
                epoch = cell - place * n_epochs
                places[place] += at_place[place] + 0.5 * step
                epochs[epoch] += in_epoch[epoch] + 0.5 * step
                at_place[place] += step
                in_epoch[epoch] += step


def sum_counts(releases: Array, hidden: Array, least: float, places: Array, epochs: Array) -> None:
    """Sum the expected counts behind published ones by place and by epoch, for counts without noise.

    A count of at least ``least`` is published as it is, and a smaller one as 0: ``hidden`` is its expectation
    in each cell.
    """
    n_epochs = epochs.shape[1]
    for round_ in range(releases.shape[0]):
        for place in range(places.shape[1]):
            total = 0.0
            cells = slice(place * n_epochs, (place + 1) * n_epochs)
            outputs, unseen, sums = releases[round_, cells], hidden[cells], epochs[round_]
            for epoch in range(n_epochs):
                output, other = outputs[epoch], unseen[epoch]
                count = output if output >= least else other
                total += count
                sums[epoch] += count
            places[round_, place] = total


def count_visits(people: Whole, visits: csr_array, dtype: type[np.integer[Any]] = np.int32) -> Whole:
    """Count the visits of each round's people: a row for each round, a column for each of ``visits``.

    -1 stands for no person; a person listed twice is counted twice.
    """
    if people.size and not (people.min() >= -1 and people.max() < visits.shape[0]):
        raise BadInput(
            f"people are numbered 0 to {visits.shape[0] - 1}, got {people.min()} to {people.max()}"
        )
    if people.shape[1] > np.iinfo(dtype).max:
        raise BadInput(
            f"counts of {people.shape[1]} people do not fit into {np.dtype(dtype).name}; use int32"
        )
    if visits.nnz > _AT_ONCE and _MANY * people.shape[1] > visits.shape[0]:
        people = np.sort(people, axis=1)  # read the visits in memory order
    counts = np.zeros((len(people), visits.shape[1]), dtype)
    if loops := kernels():
        loops.add_visits(np.ascontiguousarray(people), visits.indptr, visits.indices, counts)
    else:
        _add_visits_numpy(people, visits, counts)
    return counts


def ranges(starts: Whole, lengths: Whole) -> Whole:
    """The whole numbers of several ranges, one range after the other.

    >>> ranges(np.array([3, 10]), np.array([2, 3])).tolist()
    [3, 4, 10, 11, 12]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def _add_visits_numpy(people: Whole, visits: csr_array, counts: Whole) -> None:
    n_cells = visits.shape[1]
    width = max(1, _AT_ONCE // max(1, visits.nnz // max(1, visits.shape[0])))
    height = max(1, min(_AT_ONCE // max(1, n_cells), width // max(1, people.shape[1])))
    for top in range(0, people.shape[0], height):
        for left in range(0, people.shape[1], width):
            some = people[top : top + height, left : left + width]
            starts = visits.indptr[some]
            lengths = np.where(some < 0, 0, visits.indptr[some + 1] - starts)
            offsets = np.repeat(n_cells * np.arange(len(some)), lengths.sum(axis=1))
            cells = visits.indices[ranges(starts.ravel(), lengths.ravel())] + offsets
            block = np.bincount(cells, minlength=n_cells * len(some))
            counts[top : top + height] += block.reshape(len(some), n_cells).astype(counts.dtype)
