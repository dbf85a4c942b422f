"""Raw counts that contradict a membership: nobody was where the target was, or everybody where it was not."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.shadows.simulator import PublicParameters

CERTAIN = 1e6  # the score of certainty, as of a likelihood ratio


def contradiction_applies(public: PublicParameters, sketch: PartialTrace) -> bool:
    """Whether counts are published as they are, and the target's whole trace is known for sure."""
    chain = public.chain
    raw = isinstance(chain, ReleaseChain) and chain.noise is None and chain.suppress == 0
    return raw and sketch.complete and sketch.certain


def any_cell_empty(outputs: Reals) -> Bits:
    """Whether some cell of the target is empty; a row for each release, a column for each cell of the target.

    >>> any_cell_empty(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [False, True]
    """
    return np.asarray((outputs < 1).any(axis=1))


@dataclass(frozen=True, eq=False)
class ContradictionRule:
    """The rule in front of any other score: what contradicts is surely out (Guan et al. 2024, section 6.1).

    The rule of the paper looks for empty cells of the target. A cell with as many people as the group can
    have, where the target was not, contradicts as well.
    """

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]

    def __call__(self, view: LocationsView, scores: Reals) -> Reals:
        """Lower the scores of contradicted memberships to certainty; a column for each target."""
        usable = [contradiction_applies(self.public, sketch) for sketch in self.sketches]
        if not any(usable):
            return scores
        rounds, cells = np.nonzero(view.whole >= self.public.group_size)
        found = scores.copy()
        for target in np.flatnonzero(usable):
            own = self.sketches[target].cells
            out = any_cell_empty(view.at(own))
            out[rounds[~np.isin(cells, own)]] = True
            found[out, target] = -CERTAIN
        return found
