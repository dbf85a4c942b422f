"""People who visit several of a target's cells make them rise and fall together."""

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.locations.knowledge import Auxiliary
from leakgauge.domains.locations.traces import Ints


def shared_variance(knowledge: Auxiliary, target: int, steps: Reals) -> float:
    """The variance of a score that comes from cells moving together, beyond what each has by itself.

    ``steps`` say how much the score rises if one person more is in each cell. Unknown people move all the
    cells they visit, and so does another target who is known to visit them. Exact where a score rises by
    the same at every count. The people are those of the reference; ``doubt`` is apart.
    """
    sketch, prior = knowledge.sketches[target], knowledge.prior(target, pseudo=0.0)
    shared = 0.0
    if prior.n_in:
        apart = float(steps**2 @ (prior.rates * (1 - prior.rates)))
        shared += prior.n_in * (_of_one(knowledge, target, steps) - apart)
    for i, other in enumerate(knowledge.sketches):
        if i != target:
            moved = steps[np.isin(sketch.cells, other.visits)]
            shared += (float(moved.sum()) ** 2 - float(moved @ moved)) / 4
    return shared


def doubt(knowledge: Auxiliary, target: int, steps: Reals) -> float:
    """The variance of a score because the rates are those of a sample: n^2 V / sample."""
    n = knowledge.prior(target, pseudo=0.0).n_in
    return n**2 * _of_one(knowledge, target, steps) / knowledge.reference.n_people if n else 0.0


def typical_known(knowledge: Auxiliary, target: int) -> Ints:
    """How many known people are about in each of a target's cells."""
    prior = knowledge.prior(target, pseudo=0.0)
    return np.rint(knowledge.simulator.n_known * prior.rates).astype(np.int64)


def _of_one(knowledge: Auxiliary, target: int, steps: Reals) -> float:
    """The variance over people of what one of them adds to a score."""
    each = np.zeros(knowledge.public.map.n_cells)
    each[knowledge.sketches[target].cells] = steps
    return float((knowledge.reference.visits @ each).var())
