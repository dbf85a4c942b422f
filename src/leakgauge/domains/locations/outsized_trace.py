"""One person with an outsized trace in a small group: the target of the positive control."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.data.visit_matrix import ones_matrix

FEWEST_CELLS, MOST_CELLS = 12, 200  # of an outsized trace
SHARE = 0.1  # of all visits of a group that are the target's, at most
FEWEST_PEOPLE, VISITS_PER_CELL = 10, 2.0  # of the group, if it has to be small


def sparse_group_size(traces: Traces) -> int:
    """The largest group whose counts are two visits to each cell on average; at least ten people.

    In larger counts an attacker who has the release only may recognise nobody, with noise or without: one
    more visit is less than what counts differ from those that are usual for their place and epoch.
    """
    return max(FEWEST_PEOPLE, int(VISITS_PER_CELL * traces.map.n_cells / max(traces.n_visits.mean(), 1.0)))


def outsized_cells(traces: Traces, group_size: int, rng: Generator) -> Ints:
    """Cells of the quietest quarter, drawn at random: up to 200, or a tenth of the visits of a group.

    Where few other people are, an additional visit is easy to see. A cell is quiet where few people were, and
    where few are to be expected by its place and its epoch: an attacker who has the release only knows no
    more. Few visits among many, drawn at random, do not look like a busy place or epoch.
    """
    visitors = traces.visitors().reshape(traces.map.n_places, traces.map.n_epochs).astype(np.float64)
    expected = np.outer(visitors.sum(axis=1), visitors.sum(axis=0)) / max(visitors.sum(), 1.0)
    by_visitors = np.argsort(np.maximum(visitors, expected).ravel(), kind="stable")
    quiet = by_visitors[: max(traces.map.n_cells // 4, 1)]
    tenth = int(SHARE * group_size * traces.n_visits.mean())
    n = min(max(tenth, FEWEST_CELLS), MOST_CELLS, quiet.size)
    return np.sort(rng.choice(quiet, n, replace=False))


def with_trace(traces: Traces, person: int, cells: Ints) -> Traces:
    """The same traces, but for one person who visits exactly these cells, with the largest value in each."""
    visits = traces.visits
    cells = np.repeat(cells, traces.map.max_value)
    first, last = visits.indptr[person : person + 2]
    own = cells.astype(visits.indices.dtype)
    indices = np.concatenate([visits.indices[:first], own, visits.indices[last:]])
    indptr = visits.indptr.astype(np.int64)
    indptr[person + 1 :] += cells.size - (last - first)
    return replace(traces, visits=ones_matrix(indices, indptr, visits.shape[1]))
