"""A model as its recorded answers about known rows: small, and the same on every worker."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.strategies.gradient_clipping import Floats

RowKeys: TypeAlias = Any  # rows as single values, for sorting and searching
MOST_NUMBERED_ROWS = 2**24  # larger numbers are not exact as 32-bit floats


@dataclass(frozen=True, eq=False)
class RowIndex:
    """Finds rows by their values; equal rows are the same row."""

    keys: RowKeys  # sorted, each once
    first: Ints  # where each key is first found among the rows

    def places(self, rows: Floats) -> Ints:
        """The place of each row among the keys; -1 where it is unknown."""
        wanted = row_keys(rows)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, place, -1)


def index_rows(rows: Floats) -> RowIndex:
    """Index rows by their values.

    >>> sorted(index_rows(np.array([[2.0], [1.0], [2.0]])).first.tolist())
    [0, 1]
    """
    keys, first = np.unique(row_keys(rows), return_index=True)
    return RowIndex(keys, first)


def row_keys(rows: Floats) -> RowKeys:
    """Each row as one value that can be sorted."""
    whole = np.ascontiguousarray(rows + rows.dtype.type(0))  # no -0
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()


def numbered_rows(n_rows: int) -> Floats:
    """Rows that hold only their number, for records that are not tables of numbers."""
    if n_rows > MOST_NUMBERED_ROWS:
        raise BadInput(f"data: {n_rows} rows; at most {MOST_NUMBERED_ROWS} can be numbered: use a part")
    return np.arange(n_rows, dtype=np.float32)[:, None]


@dataclass(frozen=True, eq=False)
class RecordedModel:
    """The recorded answers of a model, found by the values of a row; other rows have no answer.

    A single column holds negated losses of any kind: there is no other class to compare with.
    """

    index: RowIndex
    answers: Reals  # log-probabilities, aligned with the keys of the index

    def log_probabilities(self, rows: Floats) -> Reals:
        """Rows x classes; no answer is infinite."""
        places = self.index.places(rows)
        if (unknown := np.flatnonzero(places < 0)).size:
            raise BadInput(
                f"challenger.model was not queried about {unknown.size} of {len(rows)} rows that an attack "
                "needs; only rows of the file have answers"
            )
        return self.answers[places]
