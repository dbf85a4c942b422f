"""Scores of the likelihood attack: the log-likelihood ratios of a target's cells, added up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.counts.count_priors import CountPrior, count_bulk
from leakgauge.domains.locations.counts.count_ratios import log_ratios, total_log_ratio
from leakgauge.domains.locations.counts.estimated_distribution import EstimatedDistribution
from leakgauge.domains.locations.counts.precomputed_ratios import (
    PrecomputedRatios,
    precompute_ratios,
    precompute_ratios_between,
)
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
)
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases
from leakgauge.domains.locations.mobility.group_effects import GroupEffectsModel
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.scorers.per_target_scorer import TargetTask
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.support.parallel import parallel_map

_PAIRS = 400_000  # counts with their outputs
_RELEASES = (20, 2_000)  # at least, at most


def release_distribution(knowledge: LocationsKnowledge, rng: Generator) -> ReleaseDistribution:
    """The chain's own law, that of a pipeline where it is given, or else one learned from shadows."""
    chain: Any = knowledge.public.chain
    if isinstance(chain, ReleaseChain) or chain.law is not None:
        return chain
    if not isinstance(knowledge, AuxiliaryKnowledge):
        kind = "past" if isinstance(knowledge, PastReleasesKnowledge) else "zero"
        raise BadInput(
            f"likelihood: knowledge {kind!r} has no traces to learn the law of mechanism.release from; give "
            'mechanism.law, or use knowledge = "auxiliary"'
        )
    cells = np.arange(knowledge.public.map.n_cells)
    n = int(np.clip(_PAIRS // cells.size, *_RELEASES))
    shadows = knowledge.simulator.independent(0, cells, n, rng)
    return EstimatedDistribution.of(shadows.counts, shadows.outputs)


_LEAST, _MOST = 1e-9, 0.999  # rates that are believed
_WIDER = 4.0  # by so much the rates of a release may differ from the usual ones, and still be tabulated


class TargetRates(Protocol):
    """How likely one person is in the cells of each target, in the eyes of an attacker."""

    def of(self, view: LocationsView) -> Sequence[Reals]:
        """For each target its cells, or rounds x cells where every round has rates of its own."""
        ...


@dataclass(frozen=True, eq=False)
class FixedRates:
    """The same in every round."""

    rates: tuple[Reals, ...]

    def of(self, view: LocationsView) -> Sequence[Reals]:
        return self.rates


@dataclass(frozen=True, eq=False)
class GroupFittedRates:
    """What is usual, fitted to what the whole release shows of the group behind it."""

    rates: tuple[Reals, ...]
    sketches: tuple[PartialTrace, ...]
    fit: GroupEffectsModel

    def of(self, view: LocationsView) -> Sequence[Reals]:
        factors = self.fit.factors(view.whole)
        return [
            _clip_rates(factors.at(sketch.cells) * rates) for sketch, rates in zip(self.sketches, self.rates)
        ]


@dataclass(frozen=True, eq=False)
class ReleaseRates:
    """Nothing is usual: everything comes from the release.

    The target, if it is in, is in the release too; but it is one of many people whose habits it shows.
    """

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]

    def of(self, view: LocationsView) -> Sequence[Reals]:
        found = view.once("habits", partial(profiles_from_releases, public=self.public))
        return [_clip_rates(found.rates(sketch.cells)) for sketch in self.sketches]


@dataclass(frozen=True, eq=False)
class LikelihoodRatioScorer:
    """Scores every target by the log-likelihood ratio of its cells, added up (Neyman and Pearson 1933)."""

    ratios: PrecomputedRatios
    sketches: tuple[PartialTrace, ...]
    priors: tuple[CountPrior, ...]  # at some rates
    rates: TargetRates
    n_known: int

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = []
        for sketch, prior, rates in zip(self.sketches, self.priors, self.rates.of(view)):
            known = view.known(sketch.cells) if self.n_known else 0
            own = replace(prior, rates=rates)
            scores.append(
                total_log_ratio(self.ratios.log_ratios(view.at(sketch.cells), known, own, sketch.weights))
            )
        return np.column_stack(scores)


def precompute_for_targets(
    law: ReleaseDistribution,
    priors: Sequence[CountPrior],
    usual: Sequence[Reals],
    n_known: int,
    *,
    vary: bool,
) -> PrecomputedRatios:
    """Tables that serve all targets, for rates as usual, or for all that are near."""
    n_in, n_out, rates = priors[0].n_in, priors[0].n_out, np.concatenate(usual)
    most_known = min(n_known, ceil(count_bulk(n_known, float(_clip_rates(rates).max()), 0).stop))
    coins = np.unique(np.concatenate([prior.coins for prior in priors])).tolist()
    if not vary:
        return precompute_ratios(law, n_in, n_out, rates, coins, most_known)
    low, high = _clip_rates(np.array([rates.min() / _WIDER, rates.max() * _WIDER]))
    return precompute_ratios_between(law, n_in, n_out, low, high, coins, most_known)


def _clip_rates(rates: Reals) -> Reals:
    return np.clip(rates, _LEAST, _MOST)


_WORTH_SPREADING = 5e7  # outputs; fewer are scored before the traces have reached a worker
_CERTAIN = 20.0  # log ratios beyond it are all the same to an average


@dataclass(frozen=True, eq=False)
class ScoredShadows:
    """Scores of shadows of one target; ``tied`` is the AUC lost because people visit several of its cells."""

    scores: Reals
    members: Bits
    tied: float


@dataclass(frozen=True, eq=False)
class _ScoreShadows:
    knowledge: AuxiliaryKnowledge
    law: ReleaseDistribution
    rates: tuple[Reals, ...]
    n: int

    def __call__(self, piece: TargetTask) -> ScoredShadows:
        sketch, rates = self.knowledge.sketches[piece.target], self.rates[piece.target]
        simulator = self.knowledge.simulator
        shadows = simulator.independent(piece.target, sketch.cells, self.n, piece.rng)
        prior = simulator.company(piece.target).prior(sketch, rates, simulator.n_known)
        ratios = log_ratios(self.law, shadows.outputs, shadows.known, prior, sketch.weights)
        return ScoredShadows(
            total_log_ratio(ratios), shadows.members, _auc_lost_to_joint_visits(ratios, shadows.members)
        )


def score_shadows(
    knowledge: AuxiliaryKnowledge, law: ReleaseDistribution, rates: Sequence[Reals], n: int, rng: Generator
) -> list[ScoredShadows]:
    """Score so many shadows of each target."""
    pieces = [TargetTask(target, own) for target, own in enumerate(rng.spawn(len(rates)))]
    work = _ScoreShadows(knowledge, law, tuple(rates), n)
    long = n * sum(own.size for own in rates) > _WORTH_SPREADING
    return parallel_map(work, pieces) if long else list(map(work, pieces))


def _auc_lost_to_joint_visits(ratios: Reals, members: Bits) -> float:
    """How much higher the AUC of the sum would be if cells varied independently, all being normal."""
    worlds = [np.clip(ratios[rows], -_CERTAIN, _CERTAIN) for rows in (members, ~members)]
    distance = float(worlds[0].sum(axis=1).mean() - worlds[1].sum(axis=1).mean())
    apart = sum(float(world.var(axis=0).sum()) for world in worlds)
    together = sum(float(world.sum(axis=1).var()) for world in worlds)
    if not (apart > 0 and together > 0):
        return 0.0
    return float(ndtr(distance / np.sqrt(apart)) - ndtr(distance / np.sqrt(together)))
