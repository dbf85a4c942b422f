"""How much the targets of a plan hide one another, where no attacker knows which of them are counted."""

from statistics import NormalDist

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.domains.locations.release_chain import ReleaseChain, UserReleaseChain

MOST_LOST, MOST_LOST_BY_ONE = 0.01, 0.03  # of accuracy; with more, success clears nobody
_CHANCE = 0.001  # that a loss about any one target is taken for one where nothing is lost
MOST_HIDDEN = 0.05  # of what a target changes, where the noise of a pipeline of one's own is not known
_NEVER_HIDDEN = 0.01  # with less for every target, nothing is simulated
_UNKNOWN_VARIANCE = 1.0  # taken for that of the noise of a pipeline of one's own
_DRAWS = 4096
_MOST_TARGETS, _ROUNDS = 200, (200, 4000)  # simulated
_MOST_ENTRIES = 15_000_000  # outputs x possible counts of other targets


def noise_variance(chain: ReleaseChain | UserReleaseChain, rng: Generator) -> float:
    """The variance of the noise of one count, about."""
    if isinstance(chain, UserReleaseChain):
        return _UNKNOWN_VARIANCE
    return 0.0 if chain.noise is None else float(np.var(chain.noise.sample(np.zeros(_DRAWS), rng)))


def may_hide(targets: csr_array, chain: ReleaseChain | UserReleaseChain, rng: Generator) -> bool:
    """Whether targets share so many cells that the accuracy they lose is worth simulating, or too much.

    Under suppression few cells tell anything, and targets may share just those.
    """
    hidden = shares_hidden_by_targets(targets, noise_variance(chain, rng))
    if isinstance(chain, UserReleaseChain):
        return bool(hidden.mean() > MOST_HIDDEN)
    return bool(hidden.max() > (0.0 if chain.suppress else _NEVER_HIDDEN))


def shares_hidden_by_targets(targets: csr_array, noise: float) -> Reals:
    """The share of what each target changes that is hidden by the other targets, not by noise.

    ``targets`` are people x cells, ``noise`` the variance of a count. The sum of a target's k cells has the
    variance k noise by the noise. Another target is in the release half of the time; with o cells in common
    it adds o^2 / 4.

    >>> three = csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))
    >>> shares_hidden_by_targets(three, 2.0).tolist()
    [0.2, 0.2, 0.0]
    """
    own = targets.astype(np.float64).power(2).sum(axis=1)
    others = _shared_cells(targets) / 4
    total = noise * own + others
    return np.divide(others, total, out=np.zeros_like(own), where=total > 0)


def hide_one_another(
    targets: csr_array, others: Ints, members: Bits, chain: ReleaseChain, rng: Generator, *, all_present: bool
) -> bool:
    """Whether an attacker is right clearly less often, on average or about one target, than about one alone.

    Targets that share no cells lose nothing. Of the rest all are simulated, or some where there are many:
    those whose shared cells tell most.
    """
    chosen = _most_hidden(targets, others, chain)
    if not chosen:
        return False
    found = [
        accuracy_lost(own, targets, others, members, chain, rng, all_present=all_present) for own in chosen
    ]
    losses, errors = np.array(found).T
    scale = np.count_nonzero(_shared_cells(targets)) / len(chosen) / targets.shape[0]
    average, error = losses.sum() * scale, float(np.sqrt((errors**2).sum())) * scale
    sure = NormalDist().inv_cdf(1 - _CHANCE / len(chosen))  # standard errors
    by_one = (losses > MOST_LOST_BY_ONE) & (losses > sure * errors)
    return bool(average - error > MOST_LOST or by_one.any())


def accuracy_lost(
    own: int,
    targets: csr_array,
    others: Ints,
    members: Bits,
    chain: ReleaseChain,
    rng: Generator,
    *,
    all_present: bool,
) -> tuple[float, float]:
    """By how much accuracy falls about one target because others may be counted or not, and its error.

    Both attackers use the likelihood ratio of each cell and know everyone who is no target. One knows the
    other targets too: those that are counted in the same rounds, or all of them, where the real release is
    about everyone (``all_present``). To the other each of them is counted with probability 1/2.

    Args:
        own: The row of the target.
        targets: People x cells.
        others: True counts of everyone who is no target, rounds x cells.
        members: Rounds x targets: which targets are counted.
        chain: What is published of the counts.
        rng: Draws the noise, the same for both attackers.
        all_present: Whether the other targets are in the release that is compared with.
    """
    cells = targets[[own]].indices
    values = targets[:, cells].toarray().astype(np.int64)
    added = values[own].copy()
    values[own] = 0
    known, is_member = others[:, cells], members[:, own]
    noise = int(rng.integers(2**63))

    def published(counts: Ints) -> Reals:
        return chain.sample(counts + is_member[:, None] * added, np.random.default_rng(noise))

    beside = known + members.astype(np.int64) @ values
    alone = known + values.sum(axis=0) if all_present else beside
    outputs = published(alone)
    certain = [chain.log_law(outputs, alone + step) for step in (added, 0)]
    outputs, chances = published(beside), _chances_of_sums(values)
    averaged = [_log_average(chain, outputs, known + step, chances) for step in (added, 0)]
    lost = _right(certain, is_member) - _right(averaged, is_member)
    by_world = [lost[is_member == world] for world in (True, False)]
    error = np.sqrt(sum(one.var() / one.size for one in by_world)) / 2
    return float(np.mean([one.mean() for one in by_world])), float(error)


def _shared_cells(targets: csr_array) -> Reals:
    """For each target, the sum of squares of how much it has in common with each of the others."""
    visits = targets.astype(np.float64)
    common = (visits @ visits.T).tocsr()
    return np.asarray(common.multiply(common).sum(axis=1)).ravel() - common.diagonal() ** 2


def _most_hidden(targets: csr_array, others: Ints, chain: ReleaseChain) -> list[int]:
    """The targets whose shared cells tell most, as far as counts are not suppressed."""
    shared = _shared_cells(targets)
    told = _chance_to_be_published(others, targets, chain)
    visits = targets.astype(np.float64)
    weighted = (visits * told[None, :]).tocsr()
    common = (weighted @ visits.T).tocsr()
    hidden = np.asarray(common.multiply(common).sum(axis=1)).ravel() - common.diagonal() ** 2
    own = np.maximum(common.diagonal(), 1e-9)
    order = np.lexsort((-shared, -hidden / own))
    return [int(one) for one in order if shared[one] > 0][: _n_simulated_targets(targets)]


def _chance_to_be_published(others: Ints, targets: csr_array, chain: ReleaseChain) -> Reals:
    """For each cell, about how probable it is that its count with a target in it is not suppressed."""
    if not chain.suppress:
        return np.ones(targets.shape[1])
    counts = np.asarray(others.mean(axis=0)) + 1 + np.asarray(targets.sum(axis=0)) / 2
    spread = 0.5 if chain.noise is None else max(0.5, float(chain.noise.noise_scale))
    return np.asarray(1 / (1 + np.exp(-np.clip((counts - chain.suppress - 0.5) / spread, -50, 50))))


def n_simulated_rounds(targets: csr_array) -> int:
    """How many rounds are simulated to find the accuracy lost."""
    n = min(targets.shape[0], _n_simulated_targets(targets))
    most = _MOST_ENTRIES / max(1, targets.shape[1])  # of all cells
    return int(np.clip(min(_MOST_ENTRIES / (n * _entries_of_a_round(targets)), most), *_ROUNDS))


def _n_simulated_targets(targets: csr_array) -> int:
    """How many targets are simulated: fewer where even few rounds take long."""
    return int(np.clip(_MOST_ENTRIES / (_ROUNDS[0] * _entries_of_a_round(targets)), 4, _MOST_TARGETS))


def _entries_of_a_round(targets: csr_array) -> float:
    """Outputs of one target x possible counts of other targets."""
    return float(max(1.0, targets.nnz / targets.shape[0] * (2 + targets.sum(axis=0).max())))


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


def _right(logs: list[Reals], is_member: Bits) -> Reals:
    """Whether the sum of the log ratios of a round is on the right side of zero; one half at zero."""
    evidence = (logs[0] - logs[1]).sum(axis=1)
    return np.where(is_member, evidence > 0, evidence < 0) + (evidence == 0) / 2
