"""The law of a release, as an adversary knows it: stated, or learned by running the pipeline."""

from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.knowledge import Auxiliary, Past, Zero
from leakgauge.strategies.estimated_law import EstimatedLaw
from leakgauge.strategies.laws import Law

_PAIRS = 400_000  # counts with their outputs
_RELEASES = (20, 2_000)  # at least, at most


def law_of(knowledge: Auxiliary | Past | Zero, rng: Generator) -> Law:
    """The chain's own law, that of a pipeline where it is given, or else one learned from shadows."""
    chain: Any = knowledge.public.chain
    if isinstance(chain, Chain) or chain.law is not None:
        return chain
    if not isinstance(knowledge, Auxiliary):
        kind = "past" if isinstance(knowledge, Past) else "zero"
        raise BadInput(
            f"likelihood: knowledge {kind!r} has no traces to learn the law of mechanism.release from; give "
            'mechanism.law, or use knowledge = "auxiliary"'
        )
    cells = np.arange(knowledge.public.map.n_cells)
    n = int(np.clip(_PAIRS // cells.size, *_RELEASES))
    shadows = knowledge.simulator.independent(0, cells, n, rng)
    return EstimatedLaw.of(shadows.counts, shadows.outputs)
