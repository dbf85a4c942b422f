"""How many of the people given visit each cell, block by block so that memory stays bounded."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.drawing import compiled

_AT_ONCE = 1 << 21  # visits, or counts, held in temporary arrays
_MANY = 16  # a group of at least one person in so many is counted in the order of the data

Whole = npt.NDArray[Any]


def count(people: Whole, visits: csr_array, dtype: type[np.integer[Any]] = np.int32) -> Whole:
    """Count the visits of each round's people: a row for each round, a column for each of ``visits``.

    -1 is nobody; somebody named twice is counted twice.
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
        people = np.sort(people, axis=1)  # read the visits in the order in which they lie in memory
    counts = np.zeros((len(people), visits.shape[1]), dtype)
    if loops := compiled.kernels():
        loops.add_visits(np.ascontiguousarray(people), visits.indptr, visits.indices, counts)
    else:
        _add_visits(people, visits, counts)
    return counts


def ranges(starts: Whole, lengths: Whole) -> Whole:
    """The whole numbers of several ranges, one range after the other.

    >>> ranges(np.array([3, 10]), np.array([2, 3])).tolist()
    [3, 4, 10, 11, 12]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def _add_visits(people: Whole, visits: csr_array, counts: Whole) -> None:
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
            found = np.bincount(cells, minlength=n_cells * len(some))
            counts[top : top + height] += found.reshape(len(some), n_cells).astype(counts.dtype)
