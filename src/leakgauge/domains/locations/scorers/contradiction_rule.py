"""Raw counts that contradict a membership: an empty cell of the target, or a full cell it did not visit."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.shadows.simulator import PublicParameters

CERTAIN = 1e6  # the score of a certain decision, on the scale of a log-likelihood ratio


def contradiction_applies(public: PublicParameters, sketch: PartialTrace) -> bool:
    """Whether raw counts are published and the target's whole trace is known with certainty."""
    chain = public.chain
    raw = isinstance(chain, ReleaseChain) and chain.noise is None and chain.suppress == 0
    return raw and sketch.complete and sketch.certain


def any_cell_empty(outputs: Reals) -> Bits:
    """Whether any cell of the target is empty, for each release; ``outputs`` is releases x target cells.

    >>> any_cell_empty(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [False, True]
    """
    return np.asarray((outputs < 1).any(axis=1))


@dataclass(frozen=True, eq=False)
class ContradictionRule:
    """Marks targets whose membership the release contradicts as non-members (Guan et al. 2024, section 6.1).

    The paper's rule looks for empty cells of the target. A cell that the target did not visit contradicts its
    membership too if its count is the size of the whole group.
    """

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]

    def __call__(self, view: LocationsView, scores: Reals) -> Reals:
        """Set the scores of contradicted memberships to -CERTAIN; scores are rounds x targets."""
        usable = [contradiction_applies(self.public, sketch) for sketch in self.sketches]
        if not any(usable):
            return scores
        rounds, cells = np.nonzero(view.whole >= self.public.group_size)
        adjusted = scores.copy()
        for target in np.flatnonzero(usable):
            own = self.sketches[target].cells
            out = any_cell_empty(view.at(own))
            out[rounds[~np.isin(cells, own)]] = True
            adjusted[out, target] = -CERTAIN
        return adjusted
