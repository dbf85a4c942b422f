"""Facts about cells of any rate, worked out at some rates and read off in between."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.cell_outlooks import CutLaw, Moments, Votes, Worlds, moments, votes
from leakgauge.strategies.count_priors import CountPrior, Ints

_STEP = 0.02  # of the log of a rate
_LOWEST = 1e-4  # expected people in a cell; where there are fewer, so many are taken


@dataclass(frozen=True, eq=False)
class RateCurves:
    """Several facts, by number of coins: each a row over rates evenly spaced on a log scale, up to 1."""

    rows: Mapping[int, Reals]

    @classmethod
    def of_moments(cls, law: CutLaw, n_in: int, n_out: int, coins: Ints) -> "RateCurves":
        """Work out mean and variance of cells with each of these numbers of coins."""
        priors = _priors(n_in, n_out, coins)
        found = {some: moments(law, prior) for some, prior in priors.items()}
        return cls({some: np.stack([*fact.mean, *fact.variance]) for some, fact in found.items()})

    @classmethod
    def of_votes(cls, law: CutLaw, n_in: int, n_out: int, coins: Ints, fpr: float | None) -> "RateCurves":
        """Work out the cuts and chances of cells with each of these numbers of coins."""
        priors = _priors(n_in, n_out, coins)
        found = {some: votes(law, prior, fpr) for some, prior in priors.items()}
        return cls({some: np.stack([fact.cut, *fact.chance]) for some, fact in found.items()})

    def moments(self, rates: Reals, coins: Ints) -> Moments:
        """Read off mean and variance, for rates of releases x cells."""
        found = self._at(rates, coins)
        return Moments(Worlds(*found[:3]), Worlds(*found[3:]))

    def votes(self, rates: Reals, coins: Ints) -> Votes:
        """Read off cuts and chances, for rates of releases x cells."""
        found = self._at(rates, coins)
        return Votes(found[0], Worlds(*found[1:]))

    def _at(self, rates: Reals, coins: Ints) -> Reals:
        n_facts, n_rates = next(iter(self.rows.values())).shape
        with np.errstate(divide="ignore"):
            places = np.clip(np.log(rates) / _STEP + n_rates - 1, 0, n_rates - 1)
        first = np.minimum(places.astype(np.intp), n_rates - 2)
        share = places - first
        found = np.empty((n_facts, *rates.shape))
        for some, rows in self.rows.items():
            cells = np.flatnonzero(coins == some)
            low, part = first[:, cells], share[:, cells]
            found[:, :, cells] = rows[:, low] * (1 - part) + rows[:, low + 1] * part
        return found


def _priors(n_in: int, n_out: int, coins: Ints) -> dict[int, CountPrior]:
    n_steps = int(np.ceil(np.log(max(n_out, 1) / _LOWEST) / _STEP))
    rates = np.exp(_STEP * np.arange(-n_steps, 1))
    return {
        int(some): CountPrior(rates, n_in, n_out, np.full(rates.size, some, dtype=np.int64))
        for some in np.unique(coins)
    }
