"""The distribution of an attack's score without the target and with it, and its threshold."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.counts.cell_expectations import CellMoments, TargetCases
from leakgauge.theory.threshold_attacks import least_votes, threshold_at_fpr

_CERTAIN = 1e6  # the evidence in a gap without any noise


@dataclass(frozen=True, eq=False)
class NormalScore:
    """A score that is about normal: its means without and with the target, and a variance for both.

    Numbers, or one for each release. ``n_shadows`` is how many shadows it was learned from; no end of them
    if it was computed.
    """

    without: Reals
    with_target: Reals
    variance: Reals
    n_shadows: float = np.inf

    @classmethod
    def of(cls, scores: Reals, members: Bits) -> "NormalScore":
        """Learn from shadows: algorithms 3 and 6 of Liu et al. (2024).

        As printed, algorithm 6 takes the mean of two variances for a standard deviation.

        >>> float(NormalScore.of(np.array([0.0, 2.0, 5.0, 7.0]), np.array([0, 0, 1, 1], bool)).midpoint)
        3.5
        """
        inside, outside = scores[members], scores[~members]
        if inside.size < 2 or outside.size < 2:
            raise BadInput(
                f"a threshold needs two releases or more of each kind, got {inside.size} with the target and "
                f"{outside.size} without; take more"
            )
        variance = (inside.var(ddof=1) + outside.var(ddof=1)) / 2
        return cls(outside.mean(), inside.mean(), variance, scores.size)

    @property
    def midpoint(self) -> Reals:
        """Where a symmetric score is cut for the best accuracy; no dust of floats, so that ties stay ties."""
        return np.round((self.without + self.with_target) / 2, 9)

    def threshold(self, fpr: float | None) -> Reals:
        """The midpoint, or what a normal score exceeds without the target with a chance of ``fpr``.

        A score that never varies is cut at the midpoint whatever the rate: cut where it always lies without
        the target, it would reach its own cut every time.
        """
        if fpr is None:
            return self.midpoint
        varies = np.asarray(self.variance) > 0
        return np.where(varies, threshold_at_fpr(fpr, self.without, self.variance), self.midpoint)

    @property
    def evidence(self) -> Reals:
        """Log odds per unit of the score, so that targets with many and with few cells can be compared.

        The gap of the means over the variance: the slope of a normal log-likelihood ratio. A gap that was
        learned from shadows counts as no smaller than its standard error, so that accident turns no score
        around.
        """
        gap = np.maximum(self.with_target - self.without, 2 * np.sqrt(self.variance / self.n_shadows))
        least = np.where(gap > 0, gap / _CERTAIN, 1.0)
        return np.asarray(np.maximum(gap, 0.0) / np.maximum(self.variance, least))


_UNTIED = 0.01  # cells with less than this part of their variance in common count as independent


def normal_sum(cells: CellMoments, weights: Reals, shared: Reals | float = 0.0) -> NormalScore:
    """The law of a weighted sum of cells, along the last axis (Liu et al. 2024, theorem 2, corrected).

    Variances add up, not deviations; ``shared`` is what cells have in common beyond their own. The weights
    are also the chances that the target, a member, is in each cell.
    """
    mean, variance = cells
    unsure = weights * (1 - weights) * mean.steps**2
    own = (variance.out + variance.member(weights) + unsure) / 2
    return _weighted_score(mean.out, mean.member(weights), own, weights, shared)


def normal_votes(chances: TargetCases, weights: Reals, shared: Reals | float = 0.0) -> NormalScore:
    """The law of a weighted number of votes, along the last axis: mean and variance of a Poisson-binomial."""
    hits = chances.member(weights)
    own = (chances.out * (1 - chances.out) + hits * (1 - hits)) / 2
    return _weighted_score(chances.out, hits, own, weights, shared)


def votes_needed(
    law: NormalScore, weights: Reals, fpr: float | None, alarms: Reals | None = None, shared: float = 0.0
) -> Reals:
    """How many votes make a member: the midpoint, or what at most a share ``fpr`` of non-members reaches.

    ``alarms`` are the chances of the cells to vote by accident. With them, if every vote counts one and cells
    share next to no variance, the number is exact. Else it is that of a normal law, half a vote higher where
    votes are whole.
    """
    if fpr is None:
        return law.midpoint
    whole = bool((weights == 1).all())
    if whole and alarms is not None and abs(shared) <= _UNTIED * np.min(law.variance):
        return least_votes(alarms, fpr).astype(np.float64)
    return law.threshold(fpr) + whole / 2


def _weighted_score(
    out: Reals, inside: Reals, own: Reals, weights: Reals, shared: Reals | float
) -> NormalScore:
    return NormalScore(
        without=(out * weights).sum(axis=-1),
        with_target=(inside * weights).sum(axis=-1),
        variance=np.maximum((own * weights**2).sum(axis=-1) + shared, 0.0),
    )


def best_cutoff(scores: Reals, members: Bits) -> float:
    """The cut with the largest TPR - FPR on an attacker's own shadows, midway between neighbouring scores.

    Only cuts between two scores are tried. A cut above all of them, where curves often begin (at infinity),
    would make a useless score call nobody a member. Of equally good cuts the middle one is taken. Where all
    scores are equal, or all shadows of one world, the lowest score is returned: "member" to everybody.

    >>> best_cutoff(np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, False, True, True]))
    1.5
    """
    n_in = int(members.sum())
    n_out = members.size - n_in
    if not members.size:
        return 0.0
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    edges = np.flatnonzero(ranked[1:] != ranked[:-1])
    if not (n_in and n_out and edges.size):
        return float(ranked[0])
    gain = np.cumsum(np.where(members[order], -n_out, n_in))[edges]  # TPR - FPR, times n_in n_out
    best = edges[np.flatnonzero(gain == gain.max())]
    middle = best[best.size // 2]
    return float(ranked[middle] / 2 + ranked[middle + 1] / 2)
