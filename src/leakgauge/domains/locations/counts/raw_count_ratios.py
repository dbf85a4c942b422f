"""Log-likelihood ratios of counts that are published without noise: exact, and without tables.

The number of unknown people in a cell is beta-binomial. The probabilities of neighbouring numbers, and of the
same number in groups of neighbouring sizes, have a ratio that is a rational function of rate and shape.
Likelihood ratios of raw counts, and of counts of which small ones are suppressed, are made of a few of these.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.locations.counts import ratio_tables
from leakgauge.domains.locations.counts.count_priors import CountPrior

MAX_SUPPRESS = 16  # sums of many more probabilities, over that of 0, may be too large for a float

Elements: TypeAlias = Bits | tuple[npt.NDArray[np.intp], ...]


@dataclass(frozen=True, eq=False)
class RawCountRatios:
    """Computes what ``count_ratios.log_ratios`` does, where counts up to ``suppress`` are published as 0.

    ``others`` gives the ratios of cells that other targets are known to visit, and those of certain counts.
    """

    suppress: int
    others: Callable[[Reals, npt.ArrayLike, CountPrior, Reals | None], Reals]

    def log_ratios(
        self, outputs: Reals, known: npt.ArrayLike, prior: CountPrior, weights: Reals | None = None
    ) -> Reals:
        """Return the log-likelihood ratios of outputs, member against non-member: rounds x cells."""
        coins = prior.coins > 0
        if not prior.n_out or coins.all() or not ((prior.rates > 0) & (prior.rates < 1)).all():
            return self.others(outputs, known, prior, weights)
        weights = None if weights is None or (weights == 1).all() else weights
        if not coins.any():
            return self._computed(outputs, known, prior, weights)
        ratios = np.empty(outputs.shape)
        sure = np.broadcast_to(np.asarray(known), outputs.shape)
        for cells, compute in ((~coins, self._computed), (coins, self.others)):
            shapes = None if prior.shapes is None else prior.shapes[..., cells]
            own = replace(prior, rates=prior.rates[..., cells], coins=prior.coins[cells], shapes=shapes)
            chances = None if weights is None else weights[cells]
            ratios[:, cells] = compute(outputs[:, cells], sure[:, cells], own, chances)
        return ratios

    def _computed(
        self, outputs: Reals, known: npt.ArrayLike, prior: CountPrior, weights: Reals | None
    ) -> Reals:
        """Return the ratios of cells that no other target is known to visit."""
        others = _UnknownOthers.of(prior, outputs.shape)
        places = outputs - np.asarray(known, dtype=np.float64)  # people beside the known ones
        possible = (places >= 0) & (places <= max(prior.n_out, prior.n_in + 1)) & (places == np.floor(places))
        if self.suppress:
            hidden = outputs == 0
            possible &= outputs > self.suppress
        numbers = np.where(possible, places, 0.0)
        present, absent = others.one_less(numbers), None if weights is None else others.as_many(numbers)
        if self.suppress:
            most = self.suppress - np.asarray(known)
            for top in np.unique(most[most >= 0]).tolist():
                own = hidden & (most == top)
                lumped = others.only(own)
                present[own] = lumped.at_most(int(top) - 1, int(top))
                if absent is not None:
                    absent[own] = lumped.at_most(int(top), int(top))
                possible |= own
        found = _bounded_log(present, possible)
        if weights is None or absent is None:
            return found
        return ratio_tables.weighted_log_ratio(found, _bounded_log(absent, possible), weights)


def _bounded_log(ratios: Reals, possible: Bits) -> Reals:
    """Return the logs, clipped; 0 where an output is possible neither with the target nor without it."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(possible, ratios, 1.0))
    return np.clip(logs, -ratio_tables.MAX_LOG_RATIO, ratio_tables.MAX_LOG_RATIO)


@dataclass(frozen=True, eq=False)
class _UnknownOthers:
    """Ratios of beta-binomial probabilities: of numbers of ``n_in`` people, over those of ``n_out`` people.

    With the parameters a and b of the beta distribution, and u = 1 / (a + b), the ratios are made of
    (a + i) u = rate + i u, (b + i) u = 1 - rate + i u and (a + b + i) u = 1 + i u. With a certain rate, u = 0
    and the numbers are binomial.
    """

    n_in: int
    n_out: int
    rates: Reals
    unit: Reals  # u

    @classmethod
    def of(cls, prior: CountPrior, shape: tuple[int, ...]) -> "_UnknownOthers":
        rates = np.broadcast_to(prior.rates, shape)
        unit = 0.0 if prior.shapes is None else rates / prior.shapes
        return cls(prior.n_in, prior.n_out, rates, np.broadcast_to(unit, shape))

    def only(self, some: Elements) -> "_UnknownOthers":
        """Return those of some elements, as a flat array."""
        return replace(self, rates=self.rates[some], unit=self.unit[some])

    def one_less(self, numbers: Reals) -> Reals:
        """Return P(numbers - 1 of n_in) / P(numbers of n_out); numbers are at most n_in + 1, or n_out."""
        visit = self.rates + np.maximum(numbers - 1, 0.0) * self.unit
        n = self.n_in
        if self.n_out == n:
            with np.errstate(divide="ignore"):
                return numbers / (n + 1 - numbers) * self._none_of(n - numbers) / visit
        ratios = numbers / (n + 1) * (1 + n * self.unit) / visit
        return ratios * self._larger_groups(n + 1, numbers)

    def as_many(self, numbers: Reals) -> Reals:
        """Return P(numbers of n_in) / P(numbers of n_out)."""
        return self._larger_groups(self.n_in, numbers)

    def at_most(self, top_in: int, top_out: int) -> Reals:
        """Return P(at most top_in of n_in) / P(at most top_out of n_out)."""
        nobody = self._larger_groups(self.n_in, np.zeros(()))
        return nobody * self._sum(self.n_in, top_in) / self._sum(self.n_out, top_out)

    def _larger_groups(self, first: int, numbers: Reals) -> Reals:
        """Return P(numbers of ``first``) / P(numbers of n_out), from one size of the group to the next."""
        ratios = np.ones(self.rates.shape)
        for n in range(first, self.n_out):
            ratios *= np.maximum(n + 1 - numbers, 0.0) / (n + 1) * (1 + n * self.unit)
            ratios /= self._none_of(n - numbers)
        return ratios

    def _sum(self, n: int, top: int) -> Reals:
        """Return P(at most ``top`` of n) / P(0 of n); ``top`` may be -1."""
        if top < 0:
            return np.zeros(self.rates.shape)
        term, total = np.ones(self.rates.shape), np.ones(self.rates.shape)
        for number in range(min(top, n)):
            term *= (n - number) / (number + 1) * (self.rates + number * self.unit)
            term /= self._none_of(n - 1 - number)
            total += term
        return total

    def _none_of(self, n: Reals | int) -> Reals:
        return np.asarray(1 - self.rates + np.maximum(n, 0) * self.unit)
