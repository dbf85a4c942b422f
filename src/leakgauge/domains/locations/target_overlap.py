"""How much the targets of a plan hide one another, where no attacker knows which of them are counted."""

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.domains.locations.release_chain import ReleaseChain, UserReleaseChain

MOST_LOST = 0.01  # of accuracy; with more, success clears nobody
MOST_HIDDEN = 0.05  # of what a target changes, where the noise of a pipeline of one's own is not known
_NEVER_HIDDEN = 0.01  # with less, nothing is simulated
_UNKNOWN_VARIANCE = 1.0  # taken for that of the noise of a pipeline of one's own
_DRAWS = 4096
_MOST_TARGETS, _ROUNDS = 20, (100, 1000)  # simulated
_MOST_ENTRIES = 4_000_000  # outputs x possible counts of other targets


def noise_variance(chain: ReleaseChain | UserReleaseChain, rng: Generator) -> float:
    """The variance of the noise of one count, about."""
    if isinstance(chain, UserReleaseChain):
        return _UNKNOWN_VARIANCE
    return 0.0 if chain.noise is None else float(np.var(chain.noise.sample(np.zeros(_DRAWS), rng)))


def may_hide(targets: csr_array, chain: ReleaseChain | UserReleaseChain, rng: Generator) -> bool:
    """Whether targets share so many cells that the accuracy they lose is worth simulating, or too much.

    Under suppression few cells tell anything, and targets may share just those.
    """
    hidden = share_hidden_by_targets(targets, noise_variance(chain, rng))
    if isinstance(chain, UserReleaseChain):
        return hidden > MOST_HIDDEN
    return hidden > (0.0 if chain.suppress else _NEVER_HIDDEN)


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


def accuracy_lost(
    targets: csr_array, others: Ints, members: Bits, chain: ReleaseChain, rng: Generator
) -> float:
    """By how much accuracy falls, on average over targets, because other targets may be counted or not.

    Both attackers use the likelihood ratio of each cell and know everyone who is no target: one also knows
    the other targets that are counted, to the other each of them is counted with probability 1/2.

    Args:
        targets: People x cells.
        others: True counts of everyone who is no target, rounds x cells.
        members: Rounds x targets: which targets are counted.
        chain: What is published of the counts.
        rng: Draws the noise, and some of the targets where there are many.
    """
    n_targets = targets.shape[0]
    chosen = rng.permutation(n_targets)[:_MOST_TARGETS]
    return float(np.mean([_lost_by(int(own), targets, others, members, chain, rng) for own in chosen]))


def n_simulated_rounds(targets: csr_array) -> int:
    """How many rounds are simulated to find the accuracy lost."""
    simulated = min(targets.shape[0], _MOST_TARGETS)
    width = simulated * targets.nnz / targets.shape[0] * (2 + targets.sum(axis=0).max())
    return int(np.clip(_MOST_ENTRIES / max(1.0, width), *_ROUNDS))


def _lost_by(
    own: int, targets: csr_array, others: Ints, members: Bits, chain: ReleaseChain, rng: Generator
) -> float:
    cells = targets[[own]].indices
    values = targets[:, cells].toarray().astype(np.int64)
    added = values[own].copy()
    values[own] = 0
    beside = members.astype(np.int64) @ values
    known = others[:, cells]
    is_member = members[:, own]
    outputs = chain.sample(known + beside + is_member[:, None] * added, rng)
    present = [chain.log_law(outputs, known + beside + step) for step in (added, 0)]
    chances = _chances_of_sums(values)
    averaged = [_log_average(chain, outputs, known + step, chances) for step in (added, 0)]
    return _accuracy(present, is_member) - _accuracy(averaged, is_member)


def _chances_of_sums(values: Ints) -> Reals:
    """P[sum in a cell], cells x sums, of people x cells who are each there with probability 1/2."""
    chances = np.zeros((values.shape[1], int(values.sum(axis=0).max()) + 1))
    chances[:, 0] = 1.0
    for row in values[values.any(axis=1)]:
        for value in np.unique(row[row > 0]):
            at = row == value
            moved = np.zeros_like(chances[at])
            moved[:, value:] = chances[at][:, :-value]
            chances[at] = (chances[at] + moved) / 2
    return chances


def _log_average(chain: ReleaseChain, outputs: Reals, known: Ints, chances: Reals) -> Reals:
    logs = np.full(outputs.shape, -np.inf)
    for extra in range(chances.shape[1]):
        cells = chances[:, extra] > 0
        law = chain.log_law(outputs[:, cells], known[:, cells] + extra)
        logs[:, cells] = np.logaddexp(logs[:, cells], law + np.log(chances[cells, extra]))
    return logs


def _accuracy(logs: list[Reals], is_member: Bits) -> float:
    """The mean of the shares of members and of others on the right side of zero; half of those at zero."""
    evidence = (logs[0] - logs[1]).sum(axis=1)
    right = np.where(is_member, evidence > 0, evidence < 0) + (evidence == 0) / 2
    return float((right[is_member].mean() + right[~is_member].mean()) / 2)
