"""One person with an outsized trace: the target of the positive control."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.domains.locations.data.traces import Ints, Traces

MOST_CELLS = 200  # of an outsized trace


def outsized_cells(traces: Traces, rng: Generator) -> Ints:
    """Cells of the quieter half, drawn at random: up to 200 of them, and at most half of all cells.

    Where few other people are, an additional visit is easy to see. Drawn at random, the cells do not look
    like a busy place or hour to an attacker who knows the release only.
    """
    by_visitors = np.argsort(traces.visitors(), kind="stable")
    quiet = by_visitors[: max(traces.map.n_cells // 2, 1)]
    return np.sort(rng.choice(quiet, min(MOST_CELLS, quiet.size), replace=False))


def with_trace(traces: Traces, person: int, cells: Ints) -> Traces:
    """The same traces, but for one person who visits exactly these cells."""
    visits = traces.visits
    first, last = visits.indptr[person : person + 2]
    indices = np.concatenate([visits.indices[:first], cells, visits.indices[last:]])
    indptr = visits.indptr.astype(np.int64)
    indptr[person + 1 :] += cells.size - (last - first)
    data = np.ones(indices.size, dtype=visits.data.dtype)
    row_starts, columns = indptr.astype(visits.indptr.dtype), indices.astype(visits.indices.dtype)
    return replace(traces, visits=csr_array((data, columns, row_starts), shape=visits.shape))
