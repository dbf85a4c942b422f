"""Thresholds computed from the noise distribution instead of simulated releases: once, or for each round."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.locations.counts import cell_expectations
from leakgauge.domains.locations.counts.cell_expectations import CellMoments, CellVotes, RateCurves
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.score_thresholds import normal_sum, normal_votes, votes_needed
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.domains.locations.knowledge import AuxiliaryKnowledge, LocationsKnowledge, ZeroKnowledge
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.release_chain.output_distribution import OutputDistribution
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.strategies.threshold_rules import TO_MEMBER, SumRule, VoteRule


def known_tail_distribution(knowledge: LocationsKnowledge) -> OutputDistribution | None:
    """Return the output distribution of the release if it is known, else None."""
    chain = knowledge.public.chain
    return (
        OutputDistribution(chain)
        if isinstance(chain, ReleaseChain) and isinstance(knowledge, AuxiliaryKnowledge | ZeroKnowledge)
        else None
    )


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

    def moments(self, view: LocationsView) -> Iterator[CellMoments]:
        """Mean and variance of the cells of each target: rounds x cells."""
        ...

    def votes(self, view: LocationsView) -> Iterator[CellVotes]:
        """Cuts of the cells of each target, and the probability to reach them: rounds x cells."""
        ...


@dataclass(frozen=True, eq=False)
class ExpectationsFromTraces:
    """Expectations from the rates of the reference for unknown people, plus the known counts."""

    law: OutputDistribution
    priors: tuple[CountPrior, ...]  # of each target
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

    def moments(self, view: LocationsView) -> Iterator[CellMoments]:
        return (cell_expectations.cell_moments(self.law, prior, known) for prior, known in self._known(view))

    def votes(self, view: LocationsView) -> Iterator[CellVotes]:
        return (
            cell_expectations.cell_votes(self.law, prior, self.fpr, known)
            for prior, known in self._known(view)
        )

    def _known(self, view: LocationsView) -> Iterator[tuple[CountPrior, Ints]]:
        known = (view.known(cells).astype(np.int64) for cells in self.cells)
        return zip(self.priors, known, strict=True)


@dataclass(frozen=True, eq=False)
class ExpectationsFromRelease:
    """Expectations from the mobility profile estimated from each release."""

    public: PublicParameters
    cells: tuple[Ints, ...]  # of each target
    coins: tuple[Ints, ...]
    curves: RateCurves  # of moments, or of votes

    @classmethod
    def of_moments(cls, knowledge: ZeroKnowledge, law: OutputDistribution) -> "ExpectationsFromRelease":
        """Compute mean and variance of cells for all rates."""
        n_in, n_out, coins = _others_beside_targets(knowledge)
        return cls._of(knowledge, coins, RateCurves.of_moments(law, n_in, n_out, np.concatenate(coins)))

    @classmethod
    def of_votes(
        cls, knowledge: ZeroKnowledge, law: OutputDistribution, fpr: float | None
    ) -> "ExpectationsFromRelease":
        """Compute cuts and vote probabilities of cells for all rates."""
        n_in, n_out, coins = _others_beside_targets(knowledge)
        return cls._of(knowledge, coins, RateCurves.of_votes(law, n_in, n_out, np.concatenate(coins), fpr))

    @classmethod
    def _of(
        cls, knowledge: ZeroKnowledge, coins: tuple[Ints, ...], curves: RateCurves
    ) -> "ExpectationsFromRelease":
        return cls(knowledge.public, tuple(sketch.cells for sketch in knowledge.sketches), coins, curves)

    def moments(self, view: LocationsView) -> Iterator[CellMoments]:
        return (self.curves.moments(rates, coins) for rates, coins in self._rates(view))

    def votes(self, view: LocationsView) -> Iterator[CellVotes]:
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
