"""Log-likelihood ratios of published counts, averaged over the attacker's prior of the true counts."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals
from leakgauge.domains.locations.counts.count_priors import CountPrior, log_sum
from leakgauge.domains.locations.counts.rate_groups import OutputElements
from leakgauge.domains.locations.counts.ratio_tables import (
    MAX_LOG_RATIO,
    CellsByRate,
    RatioGrid,
    averaged_ratio_table,
    bounded_log_ratio,
    noise_reach,
    relevant_counts,
    tabulate_ratios,
    weighted_log_ratio,
)
from leakgauge.domains.locations.counts.release_distribution import (
    BinnedOutputs,
    LogProbability,
    PiecewiseShift,
    ReleaseDistribution,
    ShiftDistribution,
)
from leakgauge.mechanisms._count_noise import IntegerOutputs, RoughDensity

_ENTRIES = 2**20  # numbers held in memory at a time
_MAX_TABLE_ENTRIES = 2**22
_TAIL = 40.0  # outputs less likely than about e^-40 are summed one by one


def log_ratios_by_sums(
    log_law: LogProbability, counts: range, cells: CellsByRate, places: Reals, weights: Reals | None
) -> Reals:
    """Return the log ratio of each place, with one cell for each place."""
    true = np.arange(counts.start, counts.stop + 1, dtype=np.float64)
    ratios = np.empty(places.size)
    block = max(1, _ENTRIES // true.size)
    for first in range(0, places.size, block):
        part = slice(first, first + block)
        law = log_law(places[part, None], true)
        masses = replace(cells, rates=cells.rates[part]).log_masses(counts)
        without = log_sum(masses[-1] + law[:, :-1])
        ratios[part] = bounded_log_ratio(log_sum(masses[0] + law[:, 1:]), without)
        if weights is not None:
            absent = bounded_log_ratio(log_sum(masses[0] + law[:, :-1]), without)
            ratios[part] = weighted_log_ratio(ratios[part], absent, weights[part])
    return ratios


def log_ratios(
    law: ReleaseDistribution,
    outputs: npt.ArrayLike,
    known: npt.ArrayLike,
    prior: CountPrior,
    weights: Reals | None = None,
) -> Reals:
    """Return the log-likelihood ratios of outputs, member against non-member: rounds x cells.

    log sum_c P_in(c) law(o | known + c + 1) - log sum_c P_out(c) law(o | known + c), the likelihood ratio of
    Neyman and Pearson (1933) with the count averaged over ``prior``. ``known`` others are in a cell with
    certainty. ``weights`` is the probability that the target, if a member, is in each cell (default 1).
    Outputs that are possible only with or only without the target get +-1e6; those possible in neither case
    get 0. The error is at most 1e-5 under smooth unrounded noise, and 1e-3 with more than 128 rates, which
    are interpolated; otherwise the result is exact.
    """
    seen = np.asarray(outputs, dtype=np.float64)
    sure = np.broadcast_to(np.asarray(known, dtype=np.float64), seen.shape)
    weights = None if weights is None or (weights == 1).all() else weights
    if prior.sure:
        ratios = bounded_log_ratio(law.log_law(seen, sure + 1), law.log_law(seen, sure))
        return ratios if weights is None else weighted_log_ratio(ratios, np.zeros(()), weights)
    ratios = np.zeros(seen.shape)
    everything = OutputElements.all_of(seen.shape, prior, weights)
    if isinstance(law, PiecewiseShift):
        for part in law.parts(seen):
            if part.places.size:
                places = part.places - sure[part.rows]
                ratios[part.rows] = shift_log_ratios(part.law, places, everything.only(part.rows))
        return ratios
    seen = law.coarse(seen) if isinstance(law, BinnedOutputs) else seen
    for value in np.unique(sure):
        rows = sure == value
        ratios[rows] = _general_log_ratios(law, float(value), seen[rows], everything.only(rows))
    return ratios


def total_log_ratio(ratios: Reals) -> Reals:
    """Return the score of each round: the sum over cells, without rounding errors.

    >>> total_log_ratio(np.array([[np.log(2), -np.log(2), 1e-14]])).tolist()
    [0.0]
    """
    return np.clip(ratios, -MAX_LOG_RATIO, MAX_LOG_RATIO).sum(axis=1).round(9) + 0.0


def shift_log_ratios(law: ShiftDistribution, places: Reals, elements: OutputElements) -> Reals:
    """Return ratios under a distribution shifted by the count; places are relative to the known count.

    Likely places are read from a table unless the density cannot be interpolated; all others are summed one
    by one.
    """
    ratios = np.empty(places.size)
    spread = noise_reach(law, _TAIL)
    for group in elements.groups():
        own = places[group.elements]
        low, high = group.cells.home(spread, _TAIL)
        home = (own >= low) & (own <= high) & (not isinstance(law.between, RoughDensity))
        if home.any():
            columns = RatioGrid.over(float(own[home].min()), float(own[home].max()), law.between)
            home &= columns.n * group.cells.rates.size <= _MAX_TABLE_ENTRIES
        if home.any():
            weights = elements.only(group.elements[home]).own_weights
            table = tabulate_ratios(law, group.cells, columns)
            ratios[group.elements[home]] = table.read(own[home], group.rows.only(home), weights)
        if not home.all():
            far = group.elements[~home]
            ratios[far] = _shift_sums(law, places[far], elements.only(far), group.cells)
    return ratios


def _shift_sums(law: ShiftDistribution, places: Reals, elements: OutputElements, cells: CellsByRate) -> Reals:
    counts = relevant_counts(law, cells, float(places.min()), float(places.max()))
    own = replace(cells, rates=elements.rates)
    return log_ratios_by_sums(lambda x, c: law.log_at(x - c), counts, own, places, elements.own_weights)


def _general_log_ratios(
    law: ReleaseDistribution, known: float, outputs: Reals, elements: OutputElements
) -> Reals:
    """Return ratios under any distribution, for cells with the same number of known people."""
    ratios = np.empty(outputs.size)
    for group in elements.groups():
        own, these = outputs[group.elements], elements.only(group.elements)
        nodes, columns = np.unique(own, return_inverse=True)
        counts = group.cells.counts(float(nodes[0]) - known, float(nodes[-1]) - known)
        true = known + np.arange(counts.start, counts.stop + 1, dtype=np.float64)
        if nodes.size * max(group.cells.rates.size, true.size) <= _MAX_TABLE_ENTRIES:
            log_law = law.log_law(nodes, true[:, None])
            table = averaged_ratio_table(
                log_law, counts, group.cells, RatioGrid(0.0, 1.0, nodes.size, IntegerOutputs())
            )
            ratios[group.elements] = table.read(columns.astype(np.float64), group.rows, these.own_weights)
        else:
            cells = replace(group.cells, rates=these.rates)
            ratios[group.elements] = log_ratios_by_sums(
                lambda outputs, counts: law.log_law(outputs, counts + known),
                counts,
                cells,
                own,
                these.own_weights,
            )
    return ratios
