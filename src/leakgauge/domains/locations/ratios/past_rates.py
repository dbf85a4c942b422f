"""How often people are in the cells of a target, as earlier releases without the target show it."""

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.locations.habits.deconvolution import estimate_together
from leakgauge.domains.locations.habits.estimates import usual_size
from leakgauge.domains.locations.habits.rate_evidence import evidence_in
from leakgauge.domains.locations.knowledge import Past
from leakgauge.strategies.laws import Law

_TOGETHER = 50  # releases that are enough to learn how popular places and epochs are


def past_rates(past: Past, law: Law) -> tuple[Reals, ...]:
    """The mean of each rate given the outputs of its cell, for each target.

    Before it is seen, a rate follows an exponential law whose mean is what the popularity of place and epoch
    says. People who are targets themselves are counted as anybody else.
    """
    size = usual_size(past.public)
    base = estimate_together(past.releases[:_TOGETHER], law, size, past.public.map).rates
    evidence = evidence_in(past.releases, law, size)
    found = []
    for target, sketch in enumerate(past.sketches):
        outputs = past.releases[np.ix_(~past.members[:, target], sketch.cells)]
        beyond = evidence.log_rates - np.log(size * base[sketch.cells])[:, None]
        belief = evidence.of(outputs).sum(axis=0) @ evidence.curves.T + beyond - np.exp(beyond)
        belief = np.exp(belief - belief.max(axis=1, keepdims=True))
        found.append(belief @ np.exp(evidence.log_rates) / belief.sum(axis=1) / size)
    return tuple(found)
