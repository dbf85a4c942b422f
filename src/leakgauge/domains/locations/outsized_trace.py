"""One person with an outsized trace in a small group: the target of the positive control."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.data.visit_matrix import ones_matrix

FEWEST_CELLS, MOST_CELLS = 12, 200  # of an outsized trace
SHARE = 0.1  # of all visits of a group that are the target's, at most
FEWEST_PEOPLE, MOST_VISITORS = 10, 0.5  # of the group; the latter on average in the cells of the trace


def sparse_group_size(traces: Traces) -> int:
    """The largest group with half a visitor on average in the quietest quarter of cells, but at least ten.

    In larger counts an attacker who has the release only may recognise nobody, with noise or without: one
    more visit is less than what counts differ from those that are usual for their place and epoch.
    """
    busy = _busyness(traces)
    visitors = float(busy[_quiet_cells(busy)].mean())
    if visitors <= MOST_VISITORS:
        return traces.n_people
    return max(FEWEST_PEOPLE, int(traces.n_people * MOST_VISITORS / visitors))


def outsized_cells(traces: Traces, group_size: int, rng: Generator) -> Ints:
    """Cells of the quietest quarter, drawn at random: up to 200, half of them, or a tenth of all visits.

    Where few other people are, an additional visit is easy to see. Few visits among many, drawn at random, do
    not look like a busy place or epoch, as all visits of a quiet place would.
    """
    quiet = _quiet_cells(_busyness(traces))
    tenth = int(SHARE * group_size * traces.n_visits.mean())
    n = min(max(min(tenth, quiet.size // 2), FEWEST_CELLS), MOST_CELLS, quiet.size)
    return np.sort(rng.choice(quiet, n, replace=False))


def _busyness(traces: Traces) -> Reals:
    """How many people are in each cell, or are to be expected there by its place and its epoch, if more.

    An attacker who has the release only knows no more than the latter.
    """
    visitors = traces.visitors().reshape(traces.map.n_places, traces.map.n_epochs).astype(np.float64)
    expected = np.outer(visitors.sum(axis=1), visitors.sum(axis=0)) / max(visitors.sum(), 1.0)
    return np.maximum(visitors, expected).ravel()


def _quiet_cells(busyness: Reals) -> Ints:
    """The quietest quarter of all cells."""
    return np.argsort(busyness, kind="stable")[: max(busyness.size // 4, 1)]


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
