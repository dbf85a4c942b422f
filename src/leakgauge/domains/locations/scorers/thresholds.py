"""Thresholds of scores: from simulated releases, or from the noise distribution, once or for each round."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts import cell_expectations, count_priors
from leakgauge.domains.locations.knowledge import AuxiliaryKnowledge, LocationsKnowledge, ZeroKnowledge
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain import OutputDistribution, ReleaseChain
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.strategies.threshold_rules import TO_MEMBER, SumRule, VoteRule
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


def normal_sum(
    cells: cell_expectations.CellMoments, weights: Reals, shared: Reals | float = 0.0
) -> NormalScore:
    """Return the distribution of a weighted sum over the last axis (Liu et al. 2024, theorem 2, corrected).

    Variances are added, not standard deviations; ``shared`` is the variance due to correlated cells. The
    weights are also the probabilities that the target, if a member, is in each cell.
    """
    mean, variance = cells
    unsure = weights * (1 - weights) * mean.steps**2
    own = (variance.out + variance.member(weights) + unsure) / 2
    return _weighted_score(mean.out, mean.member(weights), own, weights, shared)


def normal_votes(
    chances: cell_expectations.TargetCases, weights: Reals, shared: Reals | float = 0.0
) -> NormalScore:
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


def known_tail_distribution(knowledge: LocationsKnowledge) -> OutputDistribution | None:
    """Return the output distribution of the release if thresholds can be computed from it, else None."""
    chain = knowledge.public.chain
    computable = (
        isinstance(knowledge, AuxiliaryKnowledge | ZeroKnowledge) and knowledge.public.map.max_value == 1
    )
    return OutputDistribution(chain) if isinstance(chain, ReleaseChain) and computable else None


def same_every_round(knowledge: AuxiliaryKnowledge | ZeroKnowledge) -> bool:
    """Whether the expected outputs minus the known counts are the same in every round.

    They differ between rounds if rates are estimated from the release, or if some people are known and the
    chain clamps or suppresses counts.
    """
    chain = knowledge.public.chain
    if isinstance(knowledge, ZeroKnowledge):
        return False
    return knowledge.simulator.n_known == 0 or (isinstance(chain, ReleaseChain) and chain.shift_free)


class CellExpectations(Protocol):
    """Computes the expected outputs in each round."""

    def moments(self, view: LocationsView) -> Iterator[cell_expectations.CellMoments]:
        """Mean and variance of the cells of each target: rounds x cells."""
        ...

    def votes(self, view: LocationsView) -> Iterator[cell_expectations.CellVotes]:
        """Cuts of the cells of each target, and the probability to reach them: rounds x cells."""
        ...


@dataclass(frozen=True, eq=False)
class ExpectationsFromTraces:
    """Expectations from the rates of the reference for unknown people, plus the known counts."""

    law: OutputDistribution
    priors: tuple[count_priors.CountPrior, ...]  # of each target
    cells: tuple[Ints, ...]
    fpr: float | None = None  # of cells

    @classmethod
    def of(
        cls, knowledge: AuxiliaryKnowledge, law: OutputDistribution, fpr: float | None = None
    ) -> "ExpectationsFromTraces":
        """Build the expectations of an attacker with traces."""
        n_targets = len(knowledge.sketches)
        priors = tuple(knowledge.prior(target, pseudo=0.0) for target in range(n_targets))
        return cls(law, priors, tuple(sketch.cells for sketch in knowledge.sketches), fpr)

    def moments(self, view: LocationsView) -> Iterator[cell_expectations.CellMoments]:
        return (cell_expectations.cell_moments(self.law, prior, known) for prior, known in self._known(view))

    def votes(self, view: LocationsView) -> Iterator[cell_expectations.CellVotes]:
        return (
            cell_expectations.cell_votes(self.law, prior, self.fpr, known)
            for prior, known in self._known(view)
        )

    def _known(self, view: LocationsView) -> Iterator[tuple[count_priors.CountPrior, Ints]]:
        known = (view.known(cells).astype(np.int64) for cells in self.cells)
        return zip(self.priors, known, strict=True)


@dataclass(frozen=True, eq=False)
class ExpectationsFromRelease:
    """Expectations from the mobility profile estimated from each release."""

    public: PublicParameters
    cells: tuple[Ints, ...]  # of each target
    coins: tuple[Ints, ...]
    curves: cell_expectations.RateCurves  # of moments, or of votes

    @classmethod
    def of_moments(cls, knowledge: ZeroKnowledge, law: OutputDistribution) -> "ExpectationsFromRelease":
        """Compute mean and variance of cells for all rates."""
        n_in, n_out, coins = _others_beside_targets(knowledge)
        return cls._of(
            knowledge, coins, cell_expectations.RateCurves.of_moments(law, n_in, n_out, np.concatenate(coins))
        )

    @classmethod
    def of_votes(
        cls, knowledge: ZeroKnowledge, law: OutputDistribution, fpr: float | None
    ) -> "ExpectationsFromRelease":
        """Compute cuts and vote probabilities of cells for all rates."""
        n_in, n_out, coins = _others_beside_targets(knowledge)
        return cls._of(
            knowledge,
            coins,
            cell_expectations.RateCurves.of_votes(law, n_in, n_out, np.concatenate(coins), fpr),
        )

    @classmethod
    def _of(
        cls, knowledge: ZeroKnowledge, coins: tuple[Ints, ...], curves: cell_expectations.RateCurves
    ) -> "ExpectationsFromRelease":
        return cls(knowledge.public, tuple(sketch.cells for sketch in knowledge.sketches), coins, curves)

    def moments(self, view: LocationsView) -> Iterator[cell_expectations.CellMoments]:
        return (self.curves.moments(rates, coins) for rates, coins in self._rates(view))

    def votes(self, view: LocationsView) -> Iterator[cell_expectations.CellVotes]:
        return (self.curves.votes(rates, coins) for rates, coins in self._rates(view))

    def _rates(self, view: LocationsView) -> Iterator[tuple[Reals, Ints]]:
        habits = view.once("habits", partial(profiles_from_releases, public=self.public))
        return zip((habits.rates(cells) for cells in self.cells), self.coins, strict=True)


def _others_beside_targets(knowledge: ZeroKnowledge) -> tuple[int, int, tuple[Ints, ...]]:
    """Return the numbers of other people with and without the target, and each target's ``coins``."""
    nowhere = (np.zeros(sketch.cells.size) for sketch in knowledge.sketches)
    priors = [knowledge.prior(target, rates) for target, rates in enumerate(nowhere)]
    return priors[0].n_in, priors[0].n_out, tuple(prior.coins for prior in priors)


def shared_variance(knowledge: AuxiliaryKnowledge, target: int, steps: Reals) -> float:
    """Return the variance of a score due to correlated cells, beyond the variances of single cells.

    ``steps`` is how much the score rises with one more person in each cell. An unknown person changes all the
    cells they visit, and so does another target whose visits are known. The result is exact if the score is
    linear in the counts. It is estimated from the people of the reference and does not include
    ``sampling_variance``.
    """
    sketch, prior = knowledge.sketches[target], knowledge.prior(target, pseudo=0.0)
    shared = 0.0
    if prior.n_in:
        apart = float(steps**2 @ (prior.rates * (1 - prior.rates)))
        shared += prior.n_in * (_variance_per_person(knowledge, target, steps) - apart)
    for i, other in enumerate(knowledge.sketches):
        if i != target:
            moved = steps[np.isin(sketch.cells, other.visits)]
            shared += (float(moved.sum()) ** 2 - float(moved @ moved)) / 4
    return shared


def sampling_variance(knowledge: AuxiliaryKnowledge, target: int, steps: Reals) -> float:
    """Return the variance of a score due to rates estimated from a sample: n^2 V / sample size."""
    n = knowledge.prior(target, pseudo=0.0).n_in
    return n**2 * _variance_per_person(knowledge, target, steps) / knowledge.reference.n_people if n else 0.0


def typical_known(knowledge: AuxiliaryKnowledge, target: int) -> Ints:
    """Return the expected number of known people in each of a target's cells."""
    prior = knowledge.prior(target, pseudo=0.0)
    return np.rint(knowledge.simulator.n_known * prior.rates).astype(np.int64)


def _variance_per_person(knowledge: AuxiliaryKnowledge, target: int, steps: Reals) -> float:
    """Return the variance, over people, of one person's contribution to a score."""
    each = np.zeros(knowledge.public.map.n_cells)
    each[knowledge.sketches[target].cells] = steps
    return float((knowledge.reference.visits @ each).var())


@dataclass(frozen=True, eq=False)
class PerRoundSumScorer:
    """Scores every target by the sum of its cells, with a threshold computed for each round."""

    expectations: CellExpectations
    sketches: tuple[PartialTrace, ...]
    shared: tuple[float, ...]  # variance of each target's score, beyond that of single cells
    fpr: float | None

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = []
        expected = self.expectations.moments(view)
        for sketch, shared, moments in zip(self.sketches, self.shared, expected, strict=True):
            law = normal_sum(moments, sketch.weights, shared)
            rule = SumRule(sketch.weights, law.threshold(self.fpr), law.evidence)
            scores.append(rule(view.at(sketch.cells)))
        return np.column_stack(scores)


@dataclass(frozen=True, eq=False)
class PerRoundVoteScorer:
    """Scores every target by the votes of its cells, with thresholds computed for each round."""

    expectations: CellExpectations
    sketches: tuple[PartialTrace, ...]
    shared: tuple[float, ...]
    fpr: float | None

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = []
        expected = self.expectations.votes(view)
        for sketch, shared, votes in zip(self.sketches, self.shared, expected, strict=True):
            law = normal_votes(votes.chance, sketch.weights, shared)
            needed = votes_needed(law, sketch.weights, self.fpr, votes.chance.out, shared)
            rule = VoteRule(votes.cut, sketch.weights, needed, TO_MEMBER, law.evidence)
            scores.append(rule(view.at(sketch.cells)))
        return np.column_stack(scores)
