"""How much the targets of a plan hide one another, where no attacker knows which of them are counted."""

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.release_chain import ReleaseChain, UserReleaseChain

MOST_HIDDEN = 0.05  # of what a target changes; with less, accuracy falls by about half a percent or less
_UNKNOWN_VARIANCE = 1.0  # taken for that of the noise of a pipeline of one's own
_DRAWS = 4096
_NOISE = 41  # a block of the data stream


def noise_variance(chain: ReleaseChain | UserReleaseChain, seed: int) -> float:
    """The variance of the noise of one count, about."""
    if isinstance(chain, UserReleaseChain):
        return _UNKNOWN_VARIANCE
    if chain.noise is None:
        return 0.0
    return float(np.var(chain.noise.sample(np.zeros(_DRAWS), stream(seed, Role.DATA, _NOISE))))


def share_hidden_by_targets(targets: csr_array, noise: float) -> float:
    """The mean share of what a target changes that is hidden by the other targets, not by noise.

    ``targets`` are people x cells, ``noise`` the variance of a count. The sum of a target's k cells has the
    variance k noise by the noise. Another target is in the release half of the time; with o cells in common
    it adds o^2 / 4.

    >>> three = csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))
    >>> share_hidden_by_targets(three, 1.0)  # 1 of 3 for two of the targets, nothing for the third
    0.2222222222222222
    """
    visits = csr_array(
        (np.array(targets.data, dtype=np.float64), targets.indices, targets.indptr), targets.shape
    )
    common = (visits @ visits.T).tocsr()
    own = common.diagonal()
    others = (common.multiply(common).sum(axis=1) - own**2) / 4
    total = noise * own + others
    return float(np.mean(np.divide(others, total, out=np.zeros_like(own), where=total > 0)))
