"""Likelihood ratios by plain sums over the counts, where no table pays."""

from dataclasses import replace

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.laws import LogLaw
from leakgauge.strategies.mixing import log_sum
from leakgauge.strategies.ratio_tables import settled, weighed
from leakgauge.strategies.tabulating import Cells

_ENTRIES = 2**20  # numbers held at a time


def by_sums(log_law: LogLaw, counts: range, cells: Cells, places: Reals, weights: Reals | None) -> Reals:
    """The log ratio of each place, which has a cell of its own."""
    true = np.arange(counts.start, counts.stop + 1, dtype=np.float64)
    ratios = np.empty(places.size)
    block = max(1, _ENTRIES // true.size)
    for first in range(0, places.size, block):
        part = slice(first, first + block)
        law = log_law(places[part, None], true)
        masses = replace(cells, rates=cells.rates[part]).log_masses(counts)
        without = log_sum(masses[-1] + law[:, :-1])
        ratios[part] = settled(log_sum(masses[0] + law[:, 1:]), without)
        if weights is not None:
            absent = settled(log_sum(masses[0] + law[:, :-1]), without)
            ratios[part] = weighed(ratios[part], absent, weights[part])
    return ratios
