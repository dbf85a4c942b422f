"""Likelihood-ratio test on the target's cells: the optimal attack when the noise distribution is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
    count_prior,
)
from leakgauge.domains.locations.mobility.cell_rates import rates_from_past, rates_from_reference
from leakgauge.domains.locations.mobility.deconvolution import profile_from_release
from leakgauge.domains.locations.mobility.group_effects import group_effects_model
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.scorers.likelihood_scorer import (
    FixedRates,
    GroupFittedRates,
    LikelihoodRatioScorer,
    ReleaseRates,
    ScoredShadows,
    TargetRates,
    precompute_for_targets,
    release_distribution,
    score_shadows,
)
from leakgauge.strategies.score_selection import choose_score

_MIN_SHADOWS = 10
_MIN_AUC_LOSS = 0.01  # smallest loss of AUC for which fit = "auto" fits the rates
_MIN_TOTAL_SHADOWS = 5_000  # over all targets; the standard error of an AUC is then 0.001 to 0.002


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
        law = release_distribution(knowledge, rng)
        match knowledge:
            case AuxiliaryKnowledge():
                return self._by_reference(knowledge, law, rng)
            case PastReleasesKnowledge():
                rates = rates_from_past(knowledge, law)
                return _scorer(knowledge, law, _priors_from_past(knowledge, rates), FixedRates(rates), rates)
            case ZeroKnowledge():
                earlier = profile_from_release(knowledge.earlier, knowledge.public).rates
                rates = tuple(earlier[sketch.cells] for sketch in knowledge.sketches)
                priors = tuple(knowledge.prior(target, own) for target, own in enumerate(rates))
                seen = ReleaseRates(knowledge.public, knowledge.sketches)
                return _scorer(knowledge, law, priors, seen, rates)

    def _by_reference(
        self, knowledge: AuxiliaryKnowledge, law: ReleaseDistribution, rng: Generator
    ) -> Scorer[LocationsView]:
        usual = rates_from_reference(knowledge.reference)
        rates = tuple(usual(sketch.cells, sketch.weights) for sketch in knowledge.sketches)
        priors = tuple(
            count_prior(knowledge.public, knowledge.sketches, target, own, knowledge.simulator.n_known)
            for target, own in enumerate(rates)
        )
        each = max(self.shadows, ceil(_MIN_TOTAL_SHADOWS / len(rates)))
        scored = score_shadows(knowledge, law, rates, each, rng) if self._uses_shadows(knowledge) else []
        target_rates: TargetRates = FixedRates(rates)
        if self._fits_rates(knowledge, scored):
            fit = group_effects_model(
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
    priors: tuple[CountPrior, ...],
    rates: TargetRates,
    usual: tuple[Reals, ...],
    share: float | None = None,
) -> Scorer[LocationsView]:
    n_known = knowledge.simulator.n_known if isinstance(knowledge, AuxiliaryKnowledge) else 0
    ratios = precompute_for_targets(law, priors, usual, n_known, vary=not isinstance(rates, FixedRates))
    score = LikelihoodRatioScorer(ratios, knowledge.sketches, priors, rates, n_known)
    return Scorer(score, Reading(threshold=0.0, signed=True, fraction=share))


def _priors_from_past(knowledge: PastReleasesKnowledge, rates: Sequence[Reals]) -> tuple[CountPrior, ...]:
    """Count the other targets like anybody else: the rates from past releases include them."""
    size = knowledge.public.n_expected_others
    further = knowledge.public.relation is Relation.REPLACE_ONE
    return tuple(CountPrior(own, size, size + further, np.zeros(own.size, dtype=np.int64)) for own in rates)


def _guess_fraction(knowledge: AuxiliaryKnowledge, scored: Sequence[ScoredShadows]) -> float | None:
    """Return the fraction of trials on which to guess, or None without shadows."""
    if not scored:
        return None
    scores, members = (np.concatenate(parts) for parts in zip(*((one.scores, one.members) for one in scored)))
    noise = knowledge.public.chain.noise if isinstance(knowledge.public.chain, ReleaseChain) else None
    delta = 0.0 if noise is None else noise.guarantee.delta
    return choose_score([scores], members, delta=delta).fraction
