"""Parts of the rows of a sparse matrix, made one at a time, so that a worker holds only its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.game import Reals

_ROWS = 2**16  # rows that are summed at once
Part = tuple[csr_array, Reals | None]


@dataclass(frozen=True, eq=False)
class RowParts(Sequence[Part]):
    """Some rows of a matrix, ``size`` to a part, with a number beside each row, if there are any."""

    matrix: csr_array
    rows: npt.NDArray[np.intp]
    size: int
    numbers: Reals | None = None

    def __len__(self) -> int:
        return (self.rows.size + self.size - 1) // self.size

    @overload
    def __getitem__(self, part: int) -> Part: ...

    @overload
    def __getitem__(self, part: slice) -> Sequence[Part]: ...

    def __getitem__(self, part: int | slice) -> Part | Sequence[Part]:
        if isinstance(part, slice):
            return [self[i] for i in range(*part.indices(len(self)))]
        if not 0 <= part < len(self):
            raise IndexError(part)
        own = slice(part * self.size, (part + 1) * self.size)
        return self._cells(self.rows[own]), None if self.numbers is None else self.numbers[own]

    def rows_of_parts(self) -> Iterator[npt.NDArray[np.intp]]:
        """The rows of each part."""
        for first in range(0, self.rows.size, self.size):
            yield self.rows[first : first + self.size]

    def columns(self) -> Iterator[npt.NDArray[np.integer]]:
        """The columns that occur in the rows of each part, with repetitions."""
        for rows in self.rows_of_parts():
            yield self._cells(rows).indices

    def _cells(self, rows: npt.NDArray[np.intp]) -> csr_array:
        """Some rows, in rising order: cut out of those around them, whose data are few bytes if shared."""
        first, last = int(rows[0]), int(rows[-1]) + 1
        starts = self.matrix.indptr[first : last + 1]
        own = slice(int(starts[0]), int(starts[-1]))
        shape = (last - first, self.matrix.shape[1])
        around = csr_array((self.matrix.data[own], self.matrix.indices[own], starts - starts[0]), shape=shape)
        return around[rows - first]


def row_sums(matrix: csr_array) -> npt.NDArray[np.int64]:
    """The sum of each row, without a copy of all entries in 64 bits."""
    sums = np.empty(matrix.shape[0], dtype=np.int64)
    for first in range(0, matrix.shape[0], _ROWS):
        starts = matrix.indptr[first : first + _ROWS + 1]
        totals = np.concatenate([[0], np.cumsum(matrix.data[starts[0] : starts[-1]], dtype=np.int64)])
        sums[first : first + _ROWS] = np.diff(totals[starts - starts[0]])
    return sums
