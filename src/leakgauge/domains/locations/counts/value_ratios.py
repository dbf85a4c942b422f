"""Log-likelihood ratios of counts to which a target adds more than one: sums of ratios of single steps."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.shadows.simulator import PublicParameters

LogRatios: TypeAlias = Callable[[Reals, npt.ArrayLike, CountPrior, Reals | None], Reals]


def log_ratios_of_trace(
    log_ratios: LogRatios, outputs: Reals, known: npt.ArrayLike, prior: CountPrior, sketch: PartialTrace
) -> Reals:
    """Return the log-likelihood ratios of a target's cells, member against non-member: rounds x cells.

    ``log_ratios`` gives those of a target who adds 1 to ``known`` others. A target who adds 2 adds 1, and
    then 1 again to one more known person:
    log P(o | c + 2) / P(o | c) = log P(o | c + 1) / P(o | c) + log P(o | c + 2) / P(o | c + 1).
    That is so for cells that the target is known to have; with a probability for them, it is not a sum.
    """
    if bool(((sketch.added > 1) & (sketch.weights > 0) & (sketch.weights < 1)).any()):
        raise BadInput(
            "the likelihood attack needs certainty about cells to which a target adds more than 1, and this "
            'attacker has only probabilities for them; use knowledge = "informed", "auxiliary" or "zero", or '
            "data without a column of values"
        )
    ratios = log_ratios(outputs, known, prior, sketch.weights)
    sure = np.broadcast_to(np.asarray(known, dtype=np.float64), outputs.shape)
    for step in range(1, int(sketch.added.max())):
        cells = np.flatnonzero((sketch.added > step) & (sketch.weights > 0))
        shapes = None if prior.shapes is None else prior.shapes[..., cells]
        own = replace(
            prior, rates=prior.rates[..., cells], coins=prior.coins[cells], shapes=shapes, n_out=prior.n_in
        )
        ratios[:, cells] += log_ratios(outputs[:, cells], sure[:, cells] + step, own, None)
    return ratios


def informative_cells(sketch: PartialTrace, public: PublicParameters) -> PartialTrace:
    """Return a trace with all cells that tell members from non-members: a weight of 0 for those not visited.

    Under ``replace_one`` somebody else is counted if the target is not, so the cells in which the target has
    nothing are informative too. They are added where people have values in most cells of a table, and where
    the whole trace is known; visits to places are too sparse to be worth it.
    """
    if (
        public.map.timed
        or public.relation is not Relation.REPLACE_ONE
        or not (sketch.complete and sketch.certain)
    ):
        return sketch
    weights, values = np.zeros(public.map.n_cells), np.ones(public.map.n_cells, dtype=np.int64)
    weights[sketch.cells], values[sketch.cells] = 1.0, sketch.added
    return replace(sketch, cells=np.arange(public.map.n_cells), weights=weights, values=values)
