"""Likelihood-ratio test on the target's cells: the optimal attack when the noise distribution is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reading, Reals, Scorer
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.counts import (
    count_priors,
    count_ratios,
    estimated_distribution,
    value_ratios,
)
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
    count_prior,
)
from leakgauge.domains.locations.mobility import cell_rates, deconvolution
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.scorers.per_target_scorer import TargetTask
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.strategies.score_selection import choose_score
from leakgauge.support.parallel import parallel_map

_N_PAIRS = 400_000  # pairs of count and output from which a pipeline's noise distribution is estimated
_N_RELEASES = (20, 2_000)  # least and largest number of simulated releases for it
_MIN_RATE, _MAX_RATE = 1e-9, 0.999  # estimated rates are clipped to this range
_RATE_RANGE_FACTOR = 4.0  # tables cover rates down to the smallest / factor and up to the largest * factor
_MIN_PARALLEL_OUTPUTS = 5e7  # for less work, sending the traces to the workers takes longer than scoring
_MAX_LOG_RATIO = 20.0  # log ratios are clipped to +- this in averages
_MIN_SHADOWS = 10
_MIN_AUC_LOSS = 0.01  # smallest loss of AUC for which fit = "auto" fits the rates
_MIN_TOTAL_SHADOWS = 5_000  # over all targets; the standard error of an AUC is then 0.001 to 0.002


def release_distribution(knowledge: LocationsKnowledge, rng: Generator) -> ReleaseDistribution:
    """Return the chain's noise distribution, or estimate that of a user's pipeline from shadows."""
    chain: Any = knowledge.public.chain
    if isinstance(chain, ReleaseChain) or chain.law is not None:
        return chain
    if not isinstance(knowledge, AuxiliaryKnowledge):
        kind = "past" if isinstance(knowledge, PastReleasesKnowledge) else "zero"
        raise BadInput(
            f"likelihood: knowledge {kind!r} has no traces to estimate the noise distribution of "
            'mechanism.release from; set mechanism.law, or use knowledge = "auxiliary"'
        )
    cells = np.arange(knowledge.public.map.n_cells)
    n = int(np.clip(_N_PAIRS // cells.size, *_N_RELEASES))
    shadows = knowledge.simulator.independent(0, cells, n, rng)
    return estimated_distribution.EstimatedDistribution.of(shadows.counts, shadows.outputs)


class TargetRates(Protocol):
    """The attacker's estimate of the probability that one person is in each of a target's cells."""

    def of(self, view: LocationsView) -> Sequence[Reals]:
        """Return for each target its rates: by cell, or rounds x cells where they vary by round."""
        ...


@dataclass(frozen=True, eq=False)
class FixedRates:
    """Rates that are the same in every round."""

    rates: tuple[Reals, ...]

    def of(self, view: LocationsView) -> Sequence[Reals]:
        return self.rates


@dataclass(frozen=True, eq=False)
class GroupFittedRates:
    """Reference rates, adjusted to how busy places and epochs are in each release."""

    rates: tuple[Reals, ...]
    sketches: tuple[PartialTrace, ...]
    fit: cell_rates.GroupEffectsModel

    def of(self, view: LocationsView) -> Sequence[Reals]:
        factors = self.fit.factors(view.whole)
        return [
            _clip_rates(factors.at(sketch.cells) * rates) for sketch, rates in zip(self.sketches, self.rates)
        ]


@dataclass(frozen=True, eq=False)
class ReleaseRates:
    """Rates estimated from each release alone.

    If the target is a member, it is in the release too; its effect on the rates of a large group is small.
    """

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]

    def of(self, view: LocationsView) -> Sequence[Reals]:
        profiles = view.once("habits", partial(deconvolution.profiles_from_releases, public=self.public))
        return [_clip_rates(profiles.rates(sketch.cells)) for sketch in self.sketches]


@dataclass(frozen=True, eq=False)
class LikelihoodRatioScorer:
    """Scores every target by the sum of the log-likelihood ratios of its cells (Neyman and Pearson 1933)."""

    ratios: count_ratios.PrecomputedRatios
    sketches: tuple[PartialTrace, ...]
    priors: tuple[count_priors.CountPrior, ...]  # their rates are replaced in every round
    rates: TargetRates
    n_known: int

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = []
        for sketch, prior, rates in zip(self.sketches, self.priors, self.rates.of(view)):
            known = view.known(sketch.cells) if self.n_known else 0
            ratios = value_ratios.log_ratios_of_trace(
                self.ratios.log_ratios, view.at(sketch.cells), known, replace(prior, rates=rates), sketch
            )
            scores.append(count_ratios.total_log_ratio(ratios))
        return np.column_stack(scores)


def precompute_for_targets(
    law: ReleaseDistribution,
    priors: Sequence[count_priors.CountPrior],
    usual: Sequence[Reals],
    n_known: int,
    *,
    vary: bool,
) -> count_ratios.PrecomputedRatios:
    """Build tables for all targets: for the ``usual`` rates, or with ``vary`` for a range around them."""
    n_in, n_out, rates = priors[0].n_in, priors[0].n_out, np.concatenate(usual)
    most_known = min(n_known, ceil(count_priors.count_bulk(n_known, float(_clip_rates(rates).max()), 0).stop))
    coins = np.unique(np.concatenate([prior.coins for prior in priors])).tolist()
    if not vary:
        return count_ratios.precompute_ratios(law, n_in, n_out, rates, coins, most_known)
    low, high = _clip_rates(np.array([rates.min() / _RATE_RANGE_FACTOR, rates.max() * _RATE_RANGE_FACTOR]))
    return count_ratios.precompute_ratios_between(law, n_in, n_out, low, high, coins, most_known)


def _clip_rates(rates: Reals) -> Reals:
    return np.clip(rates, _MIN_RATE, _MAX_RATE)


@dataclass(frozen=True, eq=False)
class ScoredShadows:
    """Scores of shadows of one target; ``auc_loss`` is due to people who visit several of its cells."""

    scores: Reals
    members: Bits
    auc_loss: float


@dataclass(frozen=True, eq=False)
class _ScoreShadows:
    knowledge: AuxiliaryKnowledge
    law: ReleaseDistribution
    rates: tuple[Reals, ...]
    n: int

    def __call__(self, task: TargetTask) -> ScoredShadows:
        sketch, rates = self.knowledge.sketches[task.target], self.rates[task.target]
        simulator = self.knowledge.simulator
        shadows = simulator.independent(task.target, sketch.cells, self.n, task.rng)
        prior = count_prior(
            self.knowledge.public, self.knowledge.sketches, task.target, rates, simulator.n_known
        )
        log_ratios = partial(count_ratios.log_ratios, self.law)
        ratios = value_ratios.log_ratios_of_trace(log_ratios, shadows.outputs, shadows.known, prior, sketch)
        return ScoredShadows(
            count_ratios.total_log_ratio(ratios),
            shadows.members,
            _auc_lost_to_joint_visits(ratios, shadows.members),
        )


def score_shadows(
    knowledge: AuxiliaryKnowledge, law: ReleaseDistribution, rates: Sequence[Reals], n: int, rng: Generator
) -> list[ScoredShadows]:
    """Score ``n`` shadows of each target."""
    tasks = [TargetTask(target, own) for target, own in enumerate(rng.spawn(len(rates)))]
    work = _ScoreShadows(knowledge, law, tuple(rates), n)
    long = n * sum(own.size for own in rates) > _MIN_PARALLEL_OUTPUTS
    return parallel_map(work, tasks) if long else list(map(work, tasks))


def _auc_lost_to_joint_visits(ratios: Reals, members: Bits) -> float:
    """Return how much higher the AUC would be with independent cells, for normally distributed sums."""
    worlds = [np.clip(ratios[rows], -_MAX_LOG_RATIO, _MAX_LOG_RATIO) for rows in (members, ~members)]
    distance = float(worlds[0].sum(axis=1).mean() - worlds[1].sum(axis=1).mean())
    apart = sum(float(world.var(axis=0).sum()) for world in worlds)
    together = sum(float(world.sum(axis=1).var()) for world in worlds)
    if not (apart > 0 and together > 0):
        return 0.0
    return float(ndtr(distance / np.sqrt(apart)) - ndtr(distance / np.sqrt(together)))


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Sum the log-likelihood ratios (member against non-member) of the outputs in the target's cells.

    This is the test of Neyman and Pearson (1933). The noise distribution of the release is known, or it is
    estimated by running your own pipeline. The number of other people in a cell is known (informed) or
    averaged out; the probability that a person is there comes from the reference, from earlier releases, or
    from the release itself.

    ``fit`` controls whether probabilities from the reference are adjusted to each release, using all its
    cells to estimate how busy places and epochs were. "auto" adjusts them if people who visit several of the
    target's cells would otherwise cost more than 0.01 of AUC. This is measured on ``shadows`` simulated
    releases for each target (at least 5,000 over all targets). The shadows also determine the fraction of
    trials on which to guess.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "past", "zero", "friends")

    fit: Literal["auto", "always", "never"] = "auto"
    shadows: int = 400

    def __post_init__(self) -> None:
        if not (self.shadows == 0 or self.shadows >= _MIN_SHADOWS):
            raise BadInput(f"shadows must be 0 or >= {_MIN_SHADOWS}, got {self.shadows}")
        if self.fit == "auto" and self.shadows == 0:
            raise BadInput('fit = "auto" needs shadows, got shadows = 0; set fit to "always" or "never"')

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        sketches = (value_ratios.informative_cells(one, knowledge.public) for one in knowledge.sketches)
        knowledge = replace(knowledge, sketches=tuple(sketches))
        law = release_distribution(knowledge, rng)
        match knowledge:
            case AuxiliaryKnowledge():
                return self._by_reference(knowledge, law, rng)
            case PastReleasesKnowledge():
                rates = cell_rates.rates_from_past(knowledge, law)
                return _scorer(knowledge, law, _priors_from_past(knowledge, rates), FixedRates(rates), rates)
            case ZeroKnowledge():
                earlier = deconvolution.profile_from_release(knowledge.earlier, knowledge.public).rates
                rates = tuple(earlier[sketch.cells] for sketch in knowledge.sketches)
                priors = tuple(knowledge.prior(target, own) for target, own in enumerate(rates))
                seen = ReleaseRates(knowledge.public, knowledge.sketches)
                return _scorer(knowledge, law, priors, seen, rates)

    def _by_reference(
        self, knowledge: AuxiliaryKnowledge, law: ReleaseDistribution, rng: Generator
    ) -> Scorer[LocationsView]:
        usual = cell_rates.rates_from_reference(knowledge.reference)
        rates = tuple(usual(sketch.cells, sketch.weights * sketch.added) for sketch in knowledge.sketches)
        priors = tuple(
            count_prior(knowledge.public, knowledge.sketches, target, own, knowledge.simulator.n_known)
            for target, own in enumerate(rates)
        )
        each = max(self.shadows, ceil(_MIN_TOTAL_SHADOWS / len(rates)))
        scored = score_shadows(knowledge, law, rates, each, rng) if self._uses_shadows(knowledge) else []
        target_rates: TargetRates = FixedRates(rates)
        if self._fits_rates(knowledge, scored):
            fit = cell_rates.group_effects_model(
                knowledge.reference, law, knowledge.public.n_expected_others, usual.everywhere
            )
            target_rates = GroupFittedRates(rates, knowledge.sketches, fit)
        return _scorer(knowledge, law, priors, target_rates, rates, _guess_fraction(knowledge, scored))

    def _uses_shadows(self, knowledge: AuxiliaryKnowledge) -> bool:
        """Return False for your own pipeline: it may be too slow to run many times for every target."""
        return self.shadows > 0 and isinstance(knowledge.public.chain, ReleaseChain)

    def _fits_rates(self, knowledge: AuxiliaryKnowledge, scored: Sequence[ScoredShadows]) -> bool:
        """Return False if part of the group is known: that says more about the group than a fit does."""
        if knowledge.simulator.n_known or self.fit == "never":
            return False
        return (
            self.fit == "always" or float(np.mean([one.auc_loss for one in scored] or [0.0])) > _MIN_AUC_LOSS
        )


def _scorer(
    knowledge: LocationsKnowledge,
    law: ReleaseDistribution,
    priors: tuple[count_priors.CountPrior, ...],
    rates: TargetRates,
    usual: tuple[Reals, ...],
    share: float | None = None,
) -> Scorer[LocationsView]:
    n_known = knowledge.simulator.n_known if isinstance(knowledge, AuxiliaryKnowledge) else 0
    known = n_known * knowledge.public.map.max_value
    ratios = precompute_for_targets(law, priors, usual, known, vary=not isinstance(rates, FixedRates))
    score = LikelihoodRatioScorer(ratios, knowledge.sketches, priors, rates, n_known)
    return Scorer(score, Reading(threshold=0.0, signed=True, fraction=share))


def _priors_from_past(
    knowledge: PastReleasesKnowledge, rates: Sequence[Reals]
) -> tuple[count_priors.CountPrior, ...]:
    """Count the other targets like anybody else: the rates from past releases include them."""
    most = knowledge.public.map.max_value
    size = most * knowledge.public.n_expected_others
    further = most * (knowledge.public.relation is Relation.REPLACE_ONE)
    return tuple(
        count_priors.CountPrior(own, size, size + further, np.zeros(own.size, dtype=np.int64))
        for own in rates
    )


def _guess_fraction(knowledge: AuxiliaryKnowledge, scored: Sequence[ScoredShadows]) -> float | None:
    """Return the fraction of trials on which to guess, or None without shadows."""
    if not scored:
        return None
    scores, members = (np.concatenate(parts) for parts in zip(*((one.scores, one.members) for one in scored)))
    noise = knowledge.public.chain.noise if isinstance(knowledge.public.chain, ReleaseChain) else None
    delta = 0.0 if noise is None else noise.guarantee.delta
    return choose_score([scores], members, delta=delta).fraction
