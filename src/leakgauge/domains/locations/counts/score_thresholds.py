"""The distribution of an attack's score without the target and with it, and its threshold."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.counts.cell_expectations import CellMoments, TargetCases
from leakgauge.theory.threshold_attacks import least_votes, threshold_at_fpr

_MAX_EVIDENCE = 1e6  # evidence per unit of a gap without any noise
_MAX_SHARED_VARIANCE = 0.01  # cells that share less than this part of their variance count as independent


@dataclass(frozen=True, eq=False)
class NormalScore:
    """An approximately normal score: its means without and with the target, and a common variance.

    Fields are numbers, or arrays with one number per release. ``n_shadows`` is the number of shadows it was
    estimated from; infinite if it was computed.
    """

    without: Reals
    with_target: Reals
    variance: Reals
    n_shadows: float = np.inf

    @classmethod
    def of(cls, scores: Reals, members: Bits) -> "NormalScore":
        """Estimate from shadows: algorithms 3 and 6 of Liu et al. (2024).

        Algorithm 6 as printed uses the mean of two variances as a standard deviation; this is corrected.

        >>> float(NormalScore.of(np.array([0.0, 2.0, 5.0, 7.0]), np.array([0, 0, 1, 1], bool)).midpoint)
        3.5
        """
        inside, outside = scores[members], scores[~members]
        if inside.size < 2 or outside.size < 2:
            raise BadInput(
                f"a threshold needs two releases or more of each kind, got {inside.size} with the target and "
                f"{outside.size} without; raise the number of shadows or releases"
            )
        variance = (inside.var(ddof=1) + outside.var(ddof=1)) / 2
        return cls(outside.mean(), inside.mean(), variance, scores.size)

    @property
    def midpoint(self) -> Reals:
        """The most accurate threshold of a symmetric score; rounded, so that ties stay ties."""
        return np.round((self.without + self.with_target) / 2, 9)

    def threshold(self, fpr: float | None) -> Reals:
        """Return the midpoint, or the value exceeded without the target with probability ``fpr``.

        A score without variance is always cut at the midpoint: at its value without the target, it would
        reach the threshold every time.
        """
        if fpr is None:
            return self.midpoint
        varies = np.asarray(self.variance) > 0
        return np.where(varies, threshold_at_fpr(fpr, self.without, self.variance), self.midpoint)

    @property
    def evidence(self) -> Reals:
        """Log odds per unit of the score, so that targets with many and with few cells can be compared.

        It is the difference of the means divided by the variance: the slope of a normal log-likelihood ratio.
        A difference estimated from shadows is at least its standard error, so that chance cannot reverse the
        sign of a score.
        """
        gap = np.maximum(self.with_target - self.without, 2 * np.sqrt(self.variance / self.n_shadows))
        least = np.where(gap > 0, gap / _MAX_EVIDENCE, 1.0)
        return np.asarray(np.maximum(gap, 0.0) / np.maximum(self.variance, least))


def normal_sum(cells: CellMoments, weights: Reals, shared: Reals | float = 0.0) -> NormalScore:
    """Return the distribution of a weighted sum over the last axis (Liu et al. 2024, theorem 2, corrected).

    Variances are added, not standard deviations; ``shared`` is the variance due to correlated cells. The
    weights are also the probabilities that the target, if a member, is in each cell.
    """
    mean, variance = cells
    unsure = weights * (1 - weights) * mean.steps**2
    own = (variance.out + variance.member(weights) + unsure) / 2
    return _weighted_score(mean.out, mean.member(weights), own, weights, shared)


def normal_votes(chances: TargetCases, weights: Reals, shared: Reals | float = 0.0) -> NormalScore:
    """Return mean and variance of a weighted number of votes over the last axis (Poisson-binomial)."""
    hits = chances.member(weights)
    own = (chances.out * (1 - chances.out) + hits * (1 - hits)) / 2
    return _weighted_score(chances.out, hits, own, weights, shared)


def votes_needed(
    law: NormalScore, weights: Reals, fpr: float | None, alarms: Reals | None = None, shared: float = 0.0
) -> Reals:
    """Return the votes needed for "member": the midpoint, or what at most ``fpr`` of non-members reach.

    ``alarms`` are the probabilities that cells vote without the target. With them, if every vote has weight 1
    and cells share almost no variance, the number is exact. Otherwise it comes from a normal distribution,
    half a vote higher if votes are whole.
    """
    if fpr is None:
        return law.midpoint
    whole = bool((weights == 1).all())
    if whole and alarms is not None and abs(shared) <= _MAX_SHARED_VARIANCE * np.min(law.variance):
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
    """Return the cut with the largest TPR - FPR on shadows, midway between neighbouring scores.

    Only cuts between two scores are tried: with a cut above all of them, a useless score would call nobody a
    member. Of equally good cuts the middle one is taken. If all scores are equal, or all shadows are members
    or all are not, the lowest score is returned: everybody is called a member.

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
