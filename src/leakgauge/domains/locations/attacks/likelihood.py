"""Ask how much likelier the target's cells are with it than without it: the best there is, given the law."""

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

_FEWEST = 10  # shadows
_WORTH_FITTING = 0.01  # of AUC
_ENOUGH = 5_000  # shadows of all targets, to know an AUC to a thousandth or two


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Add up, over the target's cells, the log of how much likelier each output is if the target is in.

    (Neyman and Pearson 1933.) The law of the release is known, or learned by running your own pipeline.
    The others' count in a cell is averaged out: it is known (informed), or each of them is there with the
    chance that the reference, earlier releases, or the release itself suggest. ``fit`` says whether chances
    from the reference are fitted to how busy places and epochs were in each release, for which all its cells
    are looked at; "auto" does so where people who visit several of the target's cells would otherwise cost
    more than 0.01 of AUC on ``shadows``: so many for each target, but 5,000 in all at least. Shadows also fix
    the share of trials on which to guess.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "past", "zero", "friends")

    fit: Literal["auto", "always", "never"] = "auto"
    shadows: int = 400

    def __post_init__(self) -> None:
        if not (self.shadows == 0 or self.shadows >= _FEWEST):
            raise BadInput(f"shadows must be 0 or >= {_FEWEST}, got {self.shadows}")
        if self.fit == "auto" and self.shadows == 0:
            raise BadInput('fit = "auto" is decided on shadows; with shadows = 0 say "always" or "never"')

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        law = release_distribution(knowledge, rng)
        match knowledge:
            case AuxiliaryKnowledge():
                return self._by_reference(knowledge, law, rng)
            case PastReleasesKnowledge():
                rates = rates_from_past(knowledge, law)
                return _scorer(knowledge, law, _anybody(knowledge, rates), FixedRates(rates), rates)
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
        each = max(self.shadows, ceil(_ENOUGH / len(rates)))
        tried = score_shadows(knowledge, law, rates, each, rng) if self._tries(knowledge) else []
        believed: TargetRates = FixedRates(rates)
        if self._fits(knowledge, tried):
            fit = group_effects_model(
                knowledge.reference, law, knowledge.public.n_expected_others, usual.everywhere
            )
            believed = GroupFittedRates(rates, knowledge.sketches, fit)
        return _scorer(knowledge, law, priors, believed, rates, _share(knowledge, tried))

    def _tries(self, knowledge: AuxiliaryKnowledge) -> bool:
        """Your own pipeline may take long; it is not run many times for every target."""
        return self.shadows > 0 and isinstance(knowledge.public.chain, ReleaseChain)

    def _fits(self, knowledge: AuxiliaryKnowledge, tried: Sequence[ScoredShadows]) -> bool:
        """Who knows a part of the group knows more of it than can be fitted."""
        if knowledge.simulator.n_known or self.fit == "never":
            return False
        return self.fit == "always" or float(np.mean([one.tied for one in tried] or [0.0])) > _WORTH_FITTING


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


def _anybody(knowledge: PastReleasesKnowledge, rates: Sequence[Reals]) -> tuple[CountPrior, ...]:
    """The other targets are people like any other: the rates are those of groups with them."""
    size = knowledge.public.n_expected_others
    further = knowledge.public.relation is Relation.REPLACE_ONE
    return tuple(CountPrior(own, size, size + further, np.zeros(own.size, dtype=np.int64)) for own in rates)


def _share(knowledge: AuxiliaryKnowledge, tried: Sequence[ScoredShadows]) -> float | None:
    """The share of trials on which to guess, if there are shadows to tell."""
    if not tried:
        return None
    scores, members = (np.concatenate(parts) for parts in zip(*((one.scores, one.members) for one in tried)))
    noise = knowledge.public.chain.noise if isinstance(knowledge.public.chain, ReleaseChain) else None
    delta = 0.0 if noise is None else noise.guarantee.delta
    return choose_score([scores], members, delta=delta).fraction
