"""Likelihood-ratio test on the target's cells: the optimal attack when the noise distribution is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.counts import (
    count_priors,
    count_ratios,
    estimated_distribution,
    raw_count_ratios,
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
from leakgauge.domains.locations.mobility import cell_rates, deconvolution, group_effects
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfiles
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.scorers.per_target_scorer import TargetTask
from leakgauge.domains.locations.shadows.simulator import PublicParameters, ShadowReleases
from leakgauge.strategies.score_selection import choose_score
from leakgauge.support.parallel import parallel_map

_N_PAIRS = 400_000  # pairs of count and output from which a pipeline's noise distribution is estimated
_N_RELEASES = (20, 2_000)  # least and largest number of simulated releases for it
_MAX_RATE_FACTOR = 4.0  # tables cover rates down to the smallest / factor and up to the largest * factor
_N_DEVIATIONS = 3.0  # or this many standard deviations of log rates, where they are known
_MIN_PARALLEL_OUTPUTS = 5e7  # for less work, sending the traces to the workers takes longer than scoring
_MIN_SHADOWS = 10
_MIN_TOTAL_SHADOWS = 1_000  # over all targets; with 2,000 bounds of 600 rounds were smaller, of 5,000 larger


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


class RateEstimate(NamedTuple):
    """Estimated rates of a target's cells, by cell or rounds x cells, and how well they are known.

    ``shapes`` are those of ``CountPrior``.
    """

    rates: Reals
    shapes: Reals


class TargetRates(Protocol):
    """The attacker's estimate of the probability that one person is in each of a target's cells."""

    @property
    def factors(self) -> Sequence[Reals] | None:
        """By how much the rates of each target's cells may differ from the usual ones; None if they do not.

        Log-likelihood ratios are tabulated for rates within these factors, and computed for all others.
        """
        ...

    def of(self, view: LocationsView) -> Sequence[RateEstimate]:
        """Return the estimate for each target."""
        ...


@dataclass(frozen=True, eq=False)
class FixedRates:
    """Rates that are the same in every round."""

    usual: tuple[RateEstimate, ...]
    factors = None

    def of(self, view: LocationsView) -> Sequence[RateEstimate]:
        return self.usual


@dataclass(frozen=True, eq=False)
class GroupFittedRates:
    """Reference rates, adjusted to how busy places and epochs are in each release."""

    usual: tuple[RateEstimate, ...]
    sketches: tuple[PartialTrace, ...]
    fit: group_effects.GroupEffectsModel

    @property
    def factors(self) -> Sequence[Reals]:
        deviations = (self.fit.deviations(sketch.cells) for sketch in self.sketches)
        return [np.minimum(np.exp(_N_DEVIATIONS * own), _MAX_RATE_FACTOR) for own in deviations]

    def of(self, view: LocationsView) -> Sequence[RateEstimate]:
        factors = self.fit.factors(view.whole, np.concatenate([sketch.cells for sketch in self.sketches]))
        return [
            RateEstimate(cell_rates.clip_rates(factors.at(sketch.cells) * own.rates), own.shapes)
            for sketch, own in zip(self.sketches, self.usual)
        ]


@dataclass(frozen=True, eq=False)
class ReleaseRates:
    """Rates estimated from each release alone.

    If the target is a member, it is in the release too; its effect on the rates of a large group is small.
    Rates of cells vary around the popularities of place and epoch. The target visited its cells, and so do
    others more often than the popularities say.
    """

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]

    @property
    def factors(self) -> Sequence[Reals]:
        return [np.full(sketch.cells.size, _MAX_RATE_FACTOR) for sketch in self.sketches]

    def of(self, view: LocationsView) -> Sequence[RateEstimate]:
        return self.given(*view.once("habits", self._habits))

    def from_one(self, release: Reals) -> tuple[RateEstimate, ...]:
        """Return the estimates from one release, by cell."""
        return tuple(
            RateEstimate(own.rates[0], own.shapes[0]) for own in self.given(*self._habits(release[None]))
        )

    def given(self, profiles: MobilityProfiles, shapes: Reals) -> Sequence[RateEstimate]:
        """Return the estimates from the profiles of releases and the shapes of their rates."""
        return [
            RateEstimate(
                *cell_rates.given_visits(profiles.rates(sketch.cells), shapes[:, None], sketch.weights)
            )
            for sketch in self.sketches
        ]

    def _habits(self, releases: Reals) -> tuple[MobilityProfiles, Reals]:
        profiles = deconvolution.profiles_from_releases(releases, self.public)
        return profiles, deconvolution.shapes_of_releases(releases, profiles, self.public)


@dataclass(frozen=True, eq=False)
class LikelihoodRatioScorer:
    """Scores every target by the sum of the log-likelihood ratios of its cells (Neyman and Pearson 1933)."""

    ratios: count_ratios.PrecomputedRatios | raw_count_ratios.RawCountRatios
    sketches: tuple[PartialTrace, ...]
    priors: tuple[count_priors.CountPrior, ...]  # their rates are replaced in every round
    rates: TargetRates
    n_known: int

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = []
        for sketch, prior, estimate in zip(self.sketches, self.priors, self.rates.of(view)):
            known = view.known(sketch.cells) if self.n_known else 0
            own = replace(prior, rates=estimate.rates, shapes=estimate.shapes)
            ratios = value_ratios.log_ratios_of_trace(
                self.ratios.log_ratios, view.at(sketch.cells), known, own, sketch
            )
            scores.append(count_ratios.total_log_ratio(ratios))
        return np.column_stack(scores)


def precompute_for_targets(
    law: ReleaseDistribution,
    priors: Sequence[count_priors.CountPrior],
    usual: Sequence[RateEstimate],
    n_known: int,
    factors: Sequence[Reals] | None = None,
    *,
    certain: bool = False,
) -> count_ratios.PrecomputedRatios | raw_count_ratios.RawCountRatios:
    """Build tables for all targets: for the ``usual`` rates, or for those within ``factors`` of them.

    ``certain``: all targets are known to have visited their cells. Of counts without noise, only those of
    cells that other targets are known to visit are tabulated.
    """
    rates, shapes = (np.concatenate(parts) for parts in zip(*usual))
    coins = np.concatenate([prior.coins for prior in priors])
    every = count_priors.CountPrior(rates, priors[0].n_in, priors[0].n_out, coins, shapes)
    factor = None if factors is None else np.concatenate(factors)
    if not _is_raw(law):
        return _tables(law, every, n_known, factor, certain)
    if not coins.any():
        return raw_count_ratios.RawCountRatios(law.suppress, partial(count_ratios.log_ratios, law))
    cells = coins > 0
    tabled = replace(every, rates=rates[cells], coins=coins[cells], shapes=shapes[cells])
    tables = _tables(law, tabled, n_known, None if factor is None else factor[cells], certain)
    return raw_count_ratios.RawCountRatios(law.suppress, tables.log_ratios)


def _is_raw(law: ReleaseDistribution) -> TypeGuard[ReleaseChain]:
    """Return whether counts are published without noise, and at most a few are suppressed."""
    return (
        isinstance(law, ReleaseChain)
        and law.noise is None
        and not law.clamp
        and law.suppress <= raw_count_ratios.MAX_SUPPRESS
    )


def _tables(
    law: ReleaseDistribution,
    every: count_priors.CountPrior,
    n_known: int,
    factor: Reals | None,
    certain: bool,
) -> count_ratios.PrecomputedRatios:
    rates, coins, shapes = every.rates, every.coins, every.shapes
    most_known = min(
        n_known, ceil(count_priors.count_bulk(n_known, float(cell_rates.clip_rates(rates).max()), 0).stop)
    )
    if factor is None or shapes is None:
        return count_ratios.precompute_ratios(law, every, most_known)
    ranges = []
    for coin, shape in sorted(set(zip(coins.tolist(), shapes.tolist()))):
        own = (coins == coin) & (shapes == shape)
        ends = np.array([(rates[own] / factor[own]).min(), (rates[own] * factor[own]).max()])
        low, high = cell_rates.clip_rates(ends).tolist()
        ranges.append(count_ratios.RateRange(low, high, coin, shape))
    return count_ratios.precompute_ratios_between(
        law, every.n_in, every.n_out, ranges, most_known, certain=certain
    )


@dataclass(frozen=True, eq=False)
class ScoredShadows:
    """Scores of shadows of one target."""

    scores: Reals
    members: Bits


@dataclass(frozen=True, eq=False)
class _ScoreShadows:
    knowledge: AuxiliaryKnowledge
    log_ratios: value_ratios.LogRatios
    usual: tuple[RateEstimate, ...]
    n: int

    def __call__(self, task: TargetTask) -> ScoredShadows:
        sketch, (rates, shapes) = self.knowledge.sketches[task.target], self.usual[task.target]
        simulator = self.knowledge.simulator
        shadows = simulator.independent(task.target, sketch.cells, self.n, task.rng)
        prior = count_prior(
            self.knowledge.public, self.knowledge.sketches, task.target, rates, simulator.n_known
        )
        ratios = self._ratios(shadows, replace(prior, shapes=shapes), sketch)
        return ScoredShadows(count_ratios.total_log_ratio(ratios), shadows.members)

    def _ratios(self, shadows: ShadowReleases, prior: count_priors.CountPrior, sketch: PartialTrace) -> Reals:
        """Return the log-likelihood ratios; the same few whole outputs of a cell are computed once."""
        outputs, chain = shadows.outputs, self.knowledge.public.chain
        low, high = float(outputs.min()), float(outputs.max())
        if not chain.whole or self.knowledge.simulator.n_known or high - low >= len(outputs):
            return value_ratios.log_ratios_of_trace(self.log_ratios, outputs, shadows.known, prior, sketch)
        listed = np.arange(low, high + 1)[:, None] + np.zeros(outputs.shape[1])
        ratios = value_ratios.log_ratios_of_trace(self.log_ratios, listed, 0, prior, sketch)
        numbers = (outputs - low).astype(np.intp)
        numbers *= outputs.shape[1]
        numbers += np.arange(outputs.shape[1])
        return ratios.ravel().take(numbers)


def score_shadows(
    knowledge: AuxiliaryKnowledge,
    log_ratios: value_ratios.LogRatios,
    usual: Sequence[RateEstimate],
    n: int,
    rng: Generator,
) -> list[ScoredShadows]:
    """Score ``n`` shadows of each target."""
    tasks = [TargetTask(target, own) for target, own in enumerate(rng.spawn(len(usual)))]
    work = _ScoreShadows(knowledge, log_ratios, tuple(usual), n)
    long = n * sum(own.rates.size for own in usual) > _MIN_PARALLEL_OUTPUTS
    return parallel_map(work, tasks) if long else list(map(work, tasks))


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Sum the log-likelihood ratios (member against non-member) of the outputs in the target's cells.

    This is the test of Neyman and Pearson (1933). The noise distribution of the release is known, or it is
    estimated by running your own pipeline. The number of other people in a cell is known (informed) or
    averaged out; the probability that a person is there comes from the reference, from earlier releases, or
    from the release itself. These probabilities are only estimated, so the number of others is beta-binomial.

    ``fit = "always"`` adjusts probabilities from the reference to each release, using all its cells to
    estimate how busy places and epochs were, and uses visitors of single cells only where they help to
    predict held-out people of the reference. "never" takes the probabilities as they are, and reads only the
    target's cells. ``shadows`` simulated releases for each target (at least 1,000 over all targets) determine
    the fraction of trials on which to guess.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "past", "zero", "friends")

    fit: Literal["always", "never"] = "always"
    shadows: int = 100

    def __post_init__(self) -> None:
        if not (self.shadows == 0 or self.shadows >= _MIN_SHADOWS):
            raise BadInput(f"shadows must be 0 or >= {_MIN_SHADOWS}, got {self.shadows}")

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        sketches = (value_ratios.informative_cells(one, knowledge.public) for one in knowledge.sketches)
        knowledge = replace(knowledge, sketches=tuple(sketches))
        law = release_distribution(knowledge, rng)
        match knowledge:
            case AuxiliaryKnowledge():
                return self._by_reference(knowledge, law, rng)
            case PastReleasesKnowledge():
                usual = tuple(RateEstimate(*own) for own in cell_rates.rates_from_past(knowledge, law))
                priors = _priors_from_past(knowledge, usual)
                return _reading(_scorer(knowledge, law, priors, FixedRates(usual), usual))
            case ZeroKnowledge():
                seen = ReleaseRates(knowledge.public, knowledge.sketches)
                usual = seen.from_one(knowledge.earlier)
                priors = tuple(knowledge.prior(target, own.rates) for target, own in enumerate(usual))
                return _reading(_scorer(knowledge, law, priors, seen, usual))

    def _by_reference(
        self, knowledge: AuxiliaryKnowledge, law: ReleaseDistribution, rng: Generator
    ) -> Scorer[LocationsView]:
        fitted = self.fit == "always" and not knowledge.simulator.n_known  # people known say more than a fit
        found = (
            cell_rates.shrunk_rates_from_reference(knowledge.reference, knowledge.public.group_size)
            if fitted
            else cell_rates.rates_from_reference(knowledge.reference)
        )
        added = [sketch.weights * sketch.added for sketch in knowledge.sketches]
        usual = tuple(
            RateEstimate(found(sketch.cells, own), found.shapes(sketch.cells, own))
            for sketch, own in zip(knowledge.sketches, added)
        )
        priors = tuple(
            count_prior(knowledge.public, knowledge.sketches, target, own.rates, knowledge.simulator.n_known)
            for target, own in enumerate(usual)
        )
        target_rates: TargetRates = FixedRates(usual)
        if fitted:
            fit = group_effects.group_effects_model(
                knowledge.reference, law, knowledge.public.n_expected_others, found.everywhere
            )
            target_rates = GroupFittedRates(usual, knowledge.sketches, fit)
        score = _scorer(knowledge, law, priors, target_rates, usual)
        fraction = None
        if self._uses_shadows(knowledge):
            each = max(self.shadows, ceil(_MIN_TOTAL_SHADOWS / len(usual)))
            scored = score_shadows(knowledge, score.ratios.log_ratios, usual, each, rng)
            fraction = _guess_fraction(knowledge, scored)
        return _reading(score, fraction)

    def _uses_shadows(self, knowledge: AuxiliaryKnowledge) -> bool:
        """Return False for your own pipeline: it may be too slow to run many times for every target."""
        return self.shadows > 0 and isinstance(knowledge.public.chain, ReleaseChain)


def _scorer(
    knowledge: LocationsKnowledge,
    law: ReleaseDistribution,
    priors: tuple[count_priors.CountPrior, ...],
    rates: TargetRates,
    usual: tuple[RateEstimate, ...],
) -> LikelihoodRatioScorer:
    n_known = knowledge.simulator.n_known if isinstance(knowledge, AuxiliaryKnowledge) else 0
    known = n_known * knowledge.public.map.max_value
    certain = all(bool((sketch.weights == 1).all()) for sketch in knowledge.sketches)
    ratios = precompute_for_targets(law, priors, usual, known, rates.factors, certain=certain)
    return LikelihoodRatioScorer(ratios, knowledge.sketches, priors, rates, n_known)


def _reading(score: LikelihoodRatioScorer, fraction: float | None = None) -> Scorer[LocationsView]:
    return Scorer(score, Reading(threshold=0.0, signed=True, fraction=fraction))


def _priors_from_past(
    knowledge: PastReleasesKnowledge, usual: Sequence[RateEstimate]
) -> tuple[count_priors.CountPrior, ...]:
    """Count the other targets like anybody else: the rates from past releases include them."""
    most = knowledge.public.map.max_value
    size = most * knowledge.public.n_expected_others
    further = most * (knowledge.public.relation is Relation.REPLACE_ONE)
    return tuple(
        count_priors.CountPrior(own.rates, size, size + further, np.zeros(own.rates.size, dtype=np.int64))
        for own in usual
    )


def _guess_fraction(knowledge: AuxiliaryKnowledge, scored: Sequence[ScoredShadows]) -> float:
    """Return the fraction of trials on which to guess."""
    scores, members = (np.concatenate(parts) for parts in zip(*((one.scores, one.members) for one in scored)))
    noise = knowledge.public.chain.noise if isinstance(knowledge.public.chain, ReleaseChain) else None
    delta = 0.0 if noise is None else noise.guarantee.delta
    return choose_score([scores], members, delta=delta).fraction
