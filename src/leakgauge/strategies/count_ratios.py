"""The likelihood ratio of published counts, the true ones averaged over what the adversary expects."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals
from leakgauge.strategies.columns import Columns
from leakgauge.strategies.count_priors import CountPrior
from leakgauge.strategies.laws import Coarse, InParts, Law, Moving, Whole
from leakgauge.strategies.rate_groups import Elements
from leakgauge.strategies.ratio_tables import LARGEST, settled, weighed
from leakgauge.strategies.tabulating import Cells, averaged, counts_that_matter, spread_of, tabulate
from leakgauge.strategies.term_by_term import by_sums


_WIDEST = 2**22  # entries of a table
_TAIL = 40.0  # outputs less likely than about e^-40 are summed one by one


def log_ratios(
    law: Law,
    outputs: npt.ArrayLike,
    known: npt.ArrayLike,
    prior: CountPrior,
    weights: Reals | None = None,
) -> Reals:
    """How much likelier each output is if the target is a member: rounds x cells, natural logs.

    log sum_c P_in(c) law(o | known + c + 1) - log sum_c P_out(c) law(o | known + c), the likelihood ratio of
    Neyman and Pearson (1933) with the count averaged over ``prior``. ``known`` others are in a cell for sure.
    ``weights`` are the chances that the target, a member, is in each cell; without them it is in all. What is
    possible in one world only gets +-1e6, what is in neither gets 0. Exact but for 1e-5 under Gaussian noise
    that is not rounded, and for 1e-3 where there are more than 128 rates: these are interpolated.
    """
    seen = np.asarray(outputs, dtype=np.float64)
    sure = np.broadcast_to(np.asarray(known, dtype=np.float64), seen.shape)
    weights = None if weights is None or (weights == 1).all() else weights
    if prior.sure:
        ratios = settled(law.log_law(seen, sure + 1), law.log_law(seen, sure))
        return ratios if weights is None else weighed(ratios, np.zeros(()), weights)
    ratios = np.zeros(seen.shape)
    everything = Elements.all_of(seen.shape, prior, weights)
    if isinstance(law, InParts):
        for part in law.parts(seen):
            if part.places.size:
                places = part.places - sure[part.rows]
                ratios[part.rows] = moving_ratios(part.law, places, everything.only(part.rows))
        return ratios
    seen = law.coarse(seen) if isinstance(law, Coarse) else seen
    for value in np.unique(sure):
        rows = sure == value
        ratios[rows] = _standing_ratios(law, float(value), seen[rows], everything.only(rows))
    return ratios


def total(ratios: Reals) -> Reals:
    """The score of each round: the sum over cells, without the dust of floats.

    >>> total(np.array([[np.log(2), -np.log(2), 1e-14]])).tolist()
    [0.0]
    """
    return np.clip(ratios, -LARGEST, LARGEST).sum(axis=1).round(9) + 0.0


def moving_ratios(law: Moving, places: Reals, elements: Elements) -> Reals:
    """Ratios under a law that moves with the count, of places counted from those known.

    Places where nobody would expect them are summed one by one, the rest read from a table.
    """
    ratios = np.empty(places.size)
    spread = spread_of(law, _TAIL)
    for group in elements.groups():
        own = places[group.elements]
        low, high = group.cells.home(spread, _TAIL)
        home = (own >= low) & (own <= high)
        if home.any():
            columns = Columns.over(float(own[home].min()), float(own[home].max()), law.between)
            home &= columns.n * group.cells.rates.size <= _WIDEST
        if home.any():
            weights = elements.only(group.elements[home]).own_weights
            table = tabulate(law, group.cells, columns)
            ratios[group.elements[home]] = table.read(own[home], group.rows.only(home), weights)
        if not home.all():
            far = group.elements[~home]
            ratios[far] = _moving_sums(law, places[far], elements.only(far), group.cells)
    return ratios


def _moving_sums(law: Moving, places: Reals, elements: Elements, cells: Cells) -> Reals:
    counts = counts_that_matter(law, cells, float(places.min()), float(places.max()))
    own = replace(cells, rates=elements.rates)
    return by_sums(lambda x, c: law.log_at(x - c), counts, own, places, elements.own_weights)


def _standing_ratios(law: Law, known: float, outputs: Reals, elements: Elements) -> Reals:
    """Ratios under any law, of cells with the same number of known people."""
    ratios = np.empty(outputs.size)
    for group in elements.groups():
        own, these = outputs[group.elements], elements.only(group.elements)
        nodes, columns = np.unique(own, return_inverse=True)
        counts = group.cells.counts(float(nodes[0]) - known, float(nodes[-1]) - known)
        true = known + np.arange(counts.start, counts.stop + 1, dtype=np.float64)
        if nodes.size * max(group.cells.rates.size, true.size) <= _WIDEST:
            log_law = law.log_law(nodes, true[:, None])
            table = averaged(log_law, counts, group.cells, Columns(0.0, 1.0, nodes.size, Whole()))
            ratios[group.elements] = table.read(columns.astype(np.float64), group.rows, these.own_weights)
        else:
            cells = replace(group.cells, rates=these.rates)
            ratios[group.elements] = by_sums(
                lambda outputs, counts: law.log_law(outputs, counts + known),
                counts,
                cells,
                own,
                these.own_weights,
            )
    return ratios
