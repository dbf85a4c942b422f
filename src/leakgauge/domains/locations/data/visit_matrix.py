"""Sparse matrices of ones at four bytes an entry, and work on them in blocks of rows.

Columns are 32-bit integers, and all entries share a single one as their value. What is computed from all
entries is computed for some millions of them at a time, so that no copy in 64 bits of all is ever made.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.errors import BadInput

Whole: TypeAlias = npt.NDArray[np.integer[Any]]

AT_ONCE = 2**20  # entries that are worked on together
_MOST_32 = 2**31 - 1


def ones_matrix(columns: Whole, starts: Whole, n_columns: int) -> csr_array:
    """A matrix of ones: row i has the sorted ``columns[starts[i]:starts[i + 1]]``.

    Its data are one byte for the whole matrix, which cannot be written to.
    """
    matrix = csr_array((starts.size - 1, n_columns), dtype=np.uint8)
    matrix.indices = columns.astype(_index_type(n_columns), copy=False)
    matrix.indptr = starts.astype(_index_type(columns.size), copy=False)
    matrix.data = np.broadcast_to(np.uint8(1), columns.size)
    return matrix


def shared_ones(matrix: csr_array) -> csr_array:
    """The same matrix of ones without the memory of its data."""
    if matrix.data.strides == (0,):
        return matrix
    if matrix.nnz and not matrix.data.min() == matrix.data.max() == 1:
        raise BadInput("visits: all entries must be 1; list a cell as often as its value")
    return ones_matrix(matrix.indices, matrix.indptr, matrix.shape[1])


def _index_type(most: int) -> type[np.int32] | type[np.int64]:
    return np.int32 if most <= _MOST_32 else np.int64


def row_blocks(matrix: csr_array, at_once: int | None = None) -> Iterator[tuple[slice, slice]]:
    """Consecutive rows with about ``at_once`` entries together, and where their entries are."""
    starts, at_once = matrix.indptr, at_once or AT_ONCE
    marks = np.searchsorted(starts, np.arange(0, int(starts[-1]), at_once))
    edges = np.unique(np.concatenate([[0], marks, [matrix.shape[0]]]))
    for first, last in pairwise(edges.tolist()):
        yield slice(first, last), slice(int(starts[first]), int(starts[last]))


def rows_of_block(matrix: csr_array, rows: slice) -> Ints:
    """The row of each entry of a block, counted from the first row of the block."""
    lengths = np.diff(matrix.indptr[rows.start : rows.stop + 1])
    return np.repeat(np.arange(lengths.size), lengths)


def count_columns(matrix: csr_array, chosen: Bits | None = None) -> Ints:
    """How many entries each column has, in all rows or in the chosen ones."""
    total = np.zeros(matrix.shape[1], dtype=np.int64)
    for rows, entries in row_blocks(matrix):
        columns = matrix.indices[entries]
        if chosen is not None:
            lengths = np.diff(matrix.indptr[rows.start : rows.stop + 1])
            columns = columns[np.repeat(chosen[rows], lengths)]
        if matrix.shape[1] <= 4 * AT_ONCE:
            total += np.bincount(columns, minlength=matrix.shape[1])
        else:
            found, numbers = np.unique(columns, return_counts=True)
            total[found] += numbers
    return total


def keep_entries(matrix: csr_array, keep: Callable[[slice, slice], Bits]) -> csr_array:
    """Only some entries: ``keep(rows, entries)`` marks those of a block."""
    columns = np.empty(matrix.nnz, dtype=matrix.indices.dtype)
    starts = np.zeros(matrix.shape[0] + 1, dtype=np.int64)
    n = 0
    for rows, entries in row_blocks(matrix):
        kept = keep(rows, entries)
        before = np.concatenate([[0], np.cumsum(kept)])
        own = matrix.indptr[rows.start : rows.stop + 1].astype(np.int64) - entries.start
        starts[rows.start : rows.stop + 1] = n + before[own]
        columns[n : n + before[-1]] = matrix.indices[entries][kept]
        n += int(before[-1])
    used = columns[:n] if 2 * n > columns.size else columns[:n].copy()
    return ones_matrix(used, starts, matrix.shape[1])


def select_rows(matrix: csr_array, rows: Whole) -> csr_array:
    """Some rows, in the order given."""
    lengths = matrix.indptr[rows + 1] - matrix.indptr[rows]
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    columns = np.empty(int(starts[-1]), dtype=matrix.indices.dtype)
    selected = ones_matrix(columns, starts, matrix.shape[1])
    for block, entries in row_blocks(selected):
        shift = matrix.indptr[rows[block]] - starts[block]
        places = np.repeat(shift, lengths[block]) + np.arange(entries.start, entries.stop)
        columns[entries] = matrix.indices[places]
    return selected
