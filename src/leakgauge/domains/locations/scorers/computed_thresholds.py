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
    """The law of the release, where it is known."""
    chain = knowledge.public.chain
    return (
        OutputDistribution(chain)
        if isinstance(chain, ReleaseChain) and isinstance(knowledge, AuxiliaryKnowledge | ZeroKnowledge)
        else None
    )


def same_every_round(knowledge: AuxiliaryKnowledge | ZeroKnowledge) -> bool:
    """Whether the same is expected in every round, beyond the known counts.

    Not where rates come from the release; nor where somebody is known and the chain, clamping or suppressing,
    does not move with the known counts.
    """
    chain = knowledge.public.chain
    if isinstance(knowledge, ZeroKnowledge):
        return False
    return knowledge.simulator.n_known == 0 or (isinstance(chain, ReleaseChain) and chain.shift_free)


class CellExpectations(Protocol):
    """Knows what to expect in each round."""

    def moments(self, view: LocationsView) -> Iterator[CellMoments]:
        """Mean and variance of the cells of each target: rounds x cells."""
        ...

    def votes(self, view: LocationsView) -> Iterator[CellVotes]:
        """Cuts of the cells of each target, and how often they are reached: rounds x cells."""
        ...


@dataclass(frozen=True, eq=False)
class ExpectationsFromTraces:
    """Expects what the reference says of the others who are not known, and adds those who are."""

    law: OutputDistribution
    priors: tuple[CountPrior, ...]  # of each target
    cells: tuple[Ints, ...]
    fpr: float | None = None  # of cells

    @classmethod
    def of(
        cls, knowledge: AuxiliaryKnowledge, law: OutputDistribution, fpr: float | None = None
    ) -> "ExpectationsFromTraces":
        """Expect what an attacker with traces does."""
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
    """Expects what the habits seen in each release make of the cells."""

    public: PublicParameters
    cells: tuple[Ints, ...]  # of each target
    coins: tuple[Ints, ...]
    curves: RateCurves  # of moments, or of votes

    @classmethod
    def of_moments(cls, knowledge: ZeroKnowledge, law: OutputDistribution) -> "ExpectationsFromRelease":
        """Work out mean and variance of cells of any rate."""
        n_in, n_out, coins = _others_beside_targets(knowledge)
        return cls._of(knowledge, coins, RateCurves.of_moments(law, n_in, n_out, np.concatenate(coins)))

    @classmethod
    def of_votes(
        cls, knowledge: ZeroKnowledge, law: OutputDistribution, fpr: float | None
    ) -> "ExpectationsFromRelease":
        """Work out where cells of any rate are cut, and how often they vote."""
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
    """Who may be in a cell beside a target: people, with it and without, and for each target the coins."""
    nowhere = (np.zeros(sketch.cells.size) for sketch in knowledge.sketches)
    priors = [knowledge.prior(target, rates) for target, rates in enumerate(nowhere)]
    return priors[0].n_in, priors[0].n_out, tuple(prior.coins for prior in priors)


def shared_variance(knowledge: AuxiliaryKnowledge, target: int, steps: Reals) -> float:
    """The variance of a score that comes from cells moving together, beyond what each has by itself.

    ``steps`` say how much the score rises if one person more is in each cell. Unknown people move all the
    cells they visit, and so does another target who is known to visit them. Exact where a score rises by
    the same at every count. The people are those of the reference; ``sampling_variance`` is apart.
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
    """The variance of a score because the rates are those of a sample: n^2 V / sample."""
    n = knowledge.prior(target, pseudo=0.0).n_in
    return n**2 * _variance_per_person(knowledge, target, steps) / knowledge.reference.n_people if n else 0.0


def typical_known(knowledge: AuxiliaryKnowledge, target: int) -> Ints:
    """How many known people are about in each of a target's cells."""
    prior = knowledge.prior(target, pseudo=0.0)
    return np.rint(knowledge.simulator.n_known * prior.rates).astype(np.int64)


def _variance_per_person(knowledge: AuxiliaryKnowledge, target: int, steps: Reals) -> float:
    """The variance over people of what one of them adds to a score."""
    each = np.zeros(knowledge.public.map.n_cells)
    each[knowledge.sketches[target].cells] = steps
    return float((knowledge.reference.visits @ each).var())


@dataclass(frozen=True, eq=False)
class PerRoundSumScorer:
    """Scores every target by the sum of its cells, against what is to be expected in that round."""

    expecting: CellExpectations
    sketches: tuple[PartialTrace, ...]
    shared: tuple[float, ...]  # variance of each target's score, beyond that of single cells
    fpr: float | None

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = []
        expected = self.expecting.moments(view)
        for sketch, shared, moments in zip(self.sketches, self.shared, expected, strict=True):
            law = normal_sum(moments, sketch.weights, shared)
            rule = SumRule(sketch.weights, law.threshold(self.fpr), law.evidence)
            scores.append(rule(view.at(sketch.cells)))
        return np.column_stack(scores)


@dataclass(frozen=True, eq=False)
class PerRoundVoteScorer:
    """Scores every target by the votes of its cells, against what is to be expected in that round."""

    expecting: CellExpectations
    sketches: tuple[PartialTrace, ...]
    shared: tuple[float, ...]
    fpr: float | None

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = []
        expected = self.expecting.votes(view)
        for sketch, shared, votes in zip(self.sketches, self.shared, expected, strict=True):
            law = normal_votes(votes.chance, sketch.weights, shared)
            needed = votes_needed(law, sketch.weights, self.fpr, votes.chance.out, shared)
            rule = VoteRule(votes.cut, sketch.weights, needed, TO_MEMBER, law.evidence)
            scores.append(rule(view.at(sketch.cells)))
        return np.column_stack(scores)
