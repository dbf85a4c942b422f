"""Scores of the likelihood attack: log ratios of a target's cells, at the rates the adversary believes in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.locations.habits.estimates import from_releases
from leakgauge.domains.locations.knowledge import Seen
from leakgauge.domains.locations.ratios.group_fit import GroupFit
from leakgauge.domains.locations.shadows.simulator import Public
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.strategies.count_priors import bulk
from leakgauge.strategies.count_ratios import CountPrior, total
from leakgauge.strategies.laws import Law
from leakgauge.strategies.prepared_ratios import PreparedRatios, prepare, prepare_between

_LEAST, _MOST = 1e-9, 0.999  # rates that are believed
_WIDER = 4.0  # by so much the rates of a release may differ from the usual ones, and still be tabulated


class Rates(Protocol):
    """How likely one person is in the cells of each target, in the eyes of an adversary."""

    def of(self, seen: Seen) -> Sequence[Reals]:
        """For each target its cells, or rounds x cells where every round has rates of its own."""
        ...


@dataclass(frozen=True, eq=False)
class UsualRates:
    """The same in every round."""

    rates: tuple[Reals, ...]

    def of(self, seen: Seen) -> Sequence[Reals]:
        return self.rates


@dataclass(frozen=True, eq=False)
class FittedRates:
    """What is usual, fitted to what the whole release shows of the group behind it."""

    rates: tuple[Reals, ...]
    sketches: tuple[Sketch, ...]
    fit: GroupFit

    def of(self, seen: Seen) -> Sequence[Reals]:
        factors = self.fit.factors(seen.whole)
        return [
            _believed(factors.at(sketch.cells) * rates) for sketch, rates in zip(self.sketches, self.rates)
        ]


@dataclass(frozen=True, eq=False)
class SeenRates:
    """Nothing is usual: everything comes from the release.

    The target, if it is in, is in the release too; but it is one of many people whose habits it shows.
    """

    public: Public
    sketches: tuple[Sketch, ...]

    def of(self, seen: Seen) -> Sequence[Reals]:
        found = seen.once("habits", partial(from_releases, public=self.public))
        return [_believed(found.rates(sketch.cells)) for sketch in self.sketches]


@dataclass(frozen=True, eq=False)
class RatioScores:
    """Scores every target by the log-likelihood ratio of its cells, added up (Neyman and Pearson 1933)."""

    ratios: PreparedRatios
    sketches: tuple[Sketch, ...]
    priors: tuple[CountPrior, ...]  # at some rates
    rates: Rates
    n_known: int

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        scores = []
        for sketch, prior, rates in zip(self.sketches, self.priors, self.rates.of(seen)):
            known = seen.known(sketch.cells) if self.n_known else 0
            own = replace(prior, rates=rates)
            scores.append(total(self.ratios.log_ratios(seen.at(sketch.cells), known, own, sketch.weights)))
        return np.column_stack(scores)


def prepared(
    law: Law, priors: Sequence[CountPrior], usual: Sequence[Reals], n_known: int, *, vary: bool
) -> PreparedRatios:
    """Tables that serve all targets, for rates as usual, or for all that are near."""
    n_in, n_out, rates = priors[0].n_in, priors[0].n_out, np.concatenate(usual)
    most_known = min(n_known, ceil(bulk(n_known, float(_believed(rates).max()), 0).stop))
    coins = np.unique(np.concatenate([prior.coins for prior in priors])).tolist()
    if not vary:
        return prepare(law, n_in, n_out, rates, coins, most_known)
    low, high = _believed(np.array([rates.min() / _WIDER, rates.max() * _WIDER]))
    return prepare_between(law, n_in, n_out, low, high, coins, most_known)


def _believed(rates: Reals) -> Reals:
    return np.clip(rates, _LEAST, _MOST)
