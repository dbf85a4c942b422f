"""How useful published counts still are: errors of counts, what is suppressed, top places and marginals."""

from typing import NamedTuple

import numpy as np

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.release import Counts

TOP_PLACES = 20
_COUNTS_DRAWN = 2_000_000  # counts of simulated releases in all
_MOST_DRAWS = 20
MOST_CELLS = 20_000_000  # on larger maps no whole release is drawn


def n_utility_draws(n_cells: int, *, own_pipeline: bool) -> int:
    """How many releases are drawn: fewer of large maps, and one of a pipeline that may be slow."""
    return 1 if own_pipeline else int(np.clip(_COUNTS_DRAWN // n_cells, 1, _MOST_DRAWS))


def counts_utility(
    true: Counts | Ints, published: Reals, cells: CellMap, *, suppresses: bool
) -> dict[str, float]:
    """The utility of published counts, a row for each release; names are those of ``UTILITY_TERMS``.

    A table without times has rows and columns, or single cells, in the part of places and epochs. Where the
    release suppresses counts, a published 0 is a suppressed count. What is not defined, because nobody is
    counted, is left out.
    """
    error, visited = np.abs(published - true), true > 0
    suppressed = (published == 0) & visited if suppresses else np.zeros(true.shape, dtype=bool)
    shape = (len(true), cells.n_places, cells.n_epochs)
    tables = true.reshape(shape), published.reshape(shape)
    spaces, times = ([table.sum(axis=axis) for table in tables] for axis in (2, 1))
    found = {"mean_absolute_error": float(error.mean())}
    if not visited.any(axis=1).all():
        return found
    names = _names(cells)
    kept = published != 0 if suppresses else np.ones(true.shape, dtype=bool)
    some = kept.any()
    numbers = {
        "typical_error": float(error[kept].mean() if some else error.mean()),
        "largest_useful_error": float(true[kept].mean() * (0.5 if suppresses else 1.0)) if some else 0.0,
        "relative_error": float(_row_means(error / np.maximum(true, 1), visited).mean()),
        names.published: 1 - float(((true * suppressed).sum(axis=1) / true.sum(axis=1)).mean()),
        "cells_suppressed": float(_row_means(suppressed, visited).mean()),
        names.top: float(_top_overlap(*spaces).mean()),
        names.distance: float(_total_variation(*spaces).mean()),
    }
    if names.other_distance:
        numbers[names.other_distance] = float(_total_variation(*times).mean())
    return found | numbers


class _Names(NamedTuple):
    """What numbers about places, and about epochs, are called in one kind of table."""

    published: str
    top: str
    distance: str
    other_distance: str  # empty: there is one column, whose share is 1


def _names(cells: CellMap) -> _Names:
    if cells.timed:
        return _Names("visits_published", "top_places", "space_distance", "time_distance")
    if cells.n_epochs == 1:
        return _Names("counts_published", "top_cells", "cell_distance", "")
    return _Names("counts_published", "top_rows", "row_distance", "column_distance")


def _row_means(values: Reals, where: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]") -> Reals:
    """The mean of each row over some of its cells."""
    return np.mean(values, axis=1, where=where)


def _top_overlap(true: Reals, published: Reals) -> Reals:
    """The share of the most visited places that are among those of the release; equal ones in their order."""
    n_places = true.shape[1]
    n_top = TOP_PLACES if n_places >= 2 * TOP_PLACES else max(1, n_places // 2)
    tops = [np.argsort(-totals, axis=1, kind="stable")[:, :n_top] for totals in (true, published)]
    marked = np.zeros(true.shape, dtype=bool)
    np.put_along_axis(marked, tops[0], values=True, axis=1)
    return np.take_along_axis(marked, tops[1], axis=1).mean(axis=1)


def _total_variation(true: Reals, published: Reals) -> Reals:
    """Half the sum of absolute differences of shares; negative totals are 0, no visits are even shares."""
    shares = []
    for totals in (true, np.maximum(published, 0.0)):
        sums = totals.sum(axis=1, keepdims=True)
        even = np.full(totals.shape, 1 / totals.shape[1])
        shares.append(np.where(sums > 0, totals / np.where(sums > 0, sums, 1.0), even))
    return np.abs(shares[0] - shares[1]).sum(axis=1) / 2
