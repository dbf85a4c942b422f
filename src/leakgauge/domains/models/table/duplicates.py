"""Rows that occur more than once: with them, a record could be a member and not."""

import numpy as np
from numpy.random import Generator

from leakgauge.domains.models.loaded import Rows
from leakgauge.domains.models.table.sheet import Ints


def kept_once(rows: Rows, labels: Ints, rng: Generator) -> Ints:
    """One row of each set of rows with equal features and label, drawn at random, in the order of the table.

    A row that two groups have is kept in one of them only: in that of the copy that was drawn.
    """
    whole = np.ascontiguousarray(np.column_stack([rows, labels.astype(np.float32)])) + np.float32(0)  # no -0
    as_one = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    order = rng.permutation(len(rows))
    _, first = np.unique(as_one[order], return_index=True)
    return np.sort(order[first])
