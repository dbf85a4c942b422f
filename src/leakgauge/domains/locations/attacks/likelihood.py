"""Ask how much likelier the target's cells are with it than without it: the best there is, given the law."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.habits.estimates import from_release
from leakgauge.domains.locations.knowledge import Auxiliary, Past, Seen, Zero, count_prior
from leakgauge.domains.locations.ratios.group_fit import group_fit
from leakgauge.domains.locations.ratios.past_rates import past_rates
from leakgauge.domains.locations.ratios.ratio_scores import (
    FittedRates,
    Rates,
    RatioScores,
    SeenRates,
    UsualRates,
    prepared,
)
from leakgauge.domains.locations.ratios.ratio_trials import Tried, try_out
from leakgauge.domains.locations.ratios.reference_rates import reference_rates
from leakgauge.domains.locations.ratios.release_laws import law_of
from leakgauge.domains.locations.rules.by_cells import Knowledge
from leakgauge.mechanisms import gaussian
from leakgauge.strategies.count_ratios import CountPrior
from leakgauge.strategies.laws import Law
from leakgauge.strategies.selection import choose

KNOWLEDGE = "auxiliary"
ACCEPTS = ("informed", "partial", "auxiliary", "past", "zero", "friends")

_FEWEST = 10  # shadows
_WORTH_FITTING = 0.01  # of AUC
_ENOUGH = 5_000  # shadows of all targets, to know an AUC to a thousandth or two


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Add up, over the target's cells, the log of how much likelier each output is if the target is in.

    (Neyman and Pearson 1933.) The law of the release is known, or learned by running a pipeline of one's own.
    The others' count in a cell is averaged out: it is known (informed), or each of them is there with the
    chance that the reference, earlier releases, or the release itself suggest. ``fit`` says whether chances
    from the reference are fitted to how busy places and epochs were in each release, for which all its cells
    are looked at; "auto" does so where people who visit several of the target's cells would otherwise cost
    more than 0.01 of AUC on ``shadows``: so many for each target, but 5,000 in all at least. Shadows also fix
    the share of trials on which to guess.
    """

    fit: Literal["auto", "always", "never"] = "auto"
    shadows: int = 400

    def __post_init__(self) -> None:
        if not (self.shadows == 0 or self.shadows >= _FEWEST):
            raise BadInput(f"shadows must be 0 or >= {_FEWEST}, got {self.shadows}")
        if self.fit == "auto" and self.shadows == 0:
            raise BadInput('fit = "auto" is decided on shadows; with shadows = 0 say "always" or "never"')

    def study(self, knowledge: Knowledge, rng: Generator) -> Scorer[Seen]:
        law = law_of(knowledge, rng)
        match knowledge:
            case Auxiliary():
                return self._by_reference(knowledge, law, rng)
            case Past():
                rates = past_rates(knowledge, law)
                return _scorer(knowledge, law, _anybody(knowledge, rates), UsualRates(rates), rates)
            case Zero():
                earlier = from_release(knowledge.earlier, knowledge.public).rates
                rates = tuple(earlier[sketch.cells] for sketch in knowledge.sketches)
                priors = tuple(knowledge.prior(target, own) for target, own in enumerate(rates))
                seen = SeenRates(knowledge.public, knowledge.sketches)
                return _scorer(knowledge, law, priors, seen, rates)

    def _by_reference(self, knowledge: Auxiliary, law: Law, rng: Generator) -> Scorer[Seen]:
        usual = reference_rates(knowledge.reference)
        rates = tuple(usual(sketch.cells, sketch.weights) for sketch in knowledge.sketches)
        priors = tuple(
            count_prior(knowledge.public, knowledge.sketches, target, own, knowledge.simulator.n_known)
            for target, own in enumerate(rates)
        )
        each = max(self.shadows, ceil(_ENOUGH / len(rates)))
        tried = try_out(knowledge, law, rates, each, rng) if self._tries(knowledge) else []
        believed: Rates = UsualRates(rates)
        if self._fits(knowledge, tried):
            fit = group_fit(knowledge.reference, law, knowledge.public.n_company, usual.everywhere)
            believed = FittedRates(rates, knowledge.sketches, fit)
        return _scorer(knowledge, law, priors, believed, rates, _share(knowledge, tried))

    def _tries(self, knowledge: Auxiliary) -> bool:
        """A pipeline of one's own may take long; it is not run many times for every target."""
        return self.shadows > 0 and isinstance(knowledge.public.chain, Chain)

    def _fits(self, knowledge: Auxiliary, tried: Sequence[Tried]) -> bool:
        """Who knows a part of the group knows more of it than can be fitted."""
        if knowledge.simulator.n_known or self.fit == "never":
            return False
        return self.fit == "always" or float(np.mean([one.tied for one in tried] or [0.0])) > _WORTH_FITTING


def _scorer(
    knowledge: Knowledge,
    law: Law,
    priors: tuple[CountPrior, ...],
    rates: Rates,
    usual: tuple[Reals, ...],
    share: float | None = None,
) -> Scorer[Seen]:
    n_known = knowledge.simulator.n_known if isinstance(knowledge, Auxiliary) else 0
    ratios = prepared(law, priors, usual, n_known, vary=not isinstance(rates, UsualRates))
    score = RatioScores(ratios, knowledge.sketches, priors, rates, n_known)
    return Scorer(score, Reading(threshold=0.0, signed=True, fraction=share))


def _anybody(knowledge: Past, rates: Sequence[Reals]) -> tuple[CountPrior, ...]:
    """The other targets are people like any other: the rates are those of groups with them."""
    size = knowledge.public.n_company
    further = knowledge.public.relation is Relation.REPLACE_ONE
    return tuple(CountPrior(own, size, size + further, np.zeros(own.size, dtype=np.int64)) for own in rates)


def _share(knowledge: Auxiliary, tried: Sequence[Tried]) -> float | None:
    """The share of trials on which to guess, if there are shadows to tell."""
    if not tried:
        return None
    scores, members = (np.concatenate(parts) for parts in zip(*((one.scores, one.members) for one in tried)))
    noise = knowledge.public.chain.noise if isinstance(knowledge.public.chain, Chain) else None
    delta = noise.delta if isinstance(noise, gaussian.Mechanism) else 0.0
    return choose([scores], members, delta=delta).fraction
