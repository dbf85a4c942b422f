"""How often people are in each cell, as the traces of a reference show it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from leakgauge.core.game import Reals
from leakgauge.domains.locations.traces import Ints, Traces

_HALF = 0.5  # a visit added to every place and epoch, so that none is thought impossible
_MOST = 0.999  # a chance nearer to one is not believed
_SHAPES = (-6.0, 9.0)  # logs of the shapes that are tried


@dataclass(frozen=True, eq=False)
class ReferenceRates:
    """What the visitors of a cell say of its rate, beside those of its place and its epoch.

    The rate of a cell is the product of how popular its place and its epoch are, times a factor of its own
    that follows a gamma law of mean one. Its ``shape`` is the likeliest for the visitors of all cells, which
    are then negative binomial (Greenwood and Yule 1920); a rate is its mean given the visitors: cells that
    few people visited are not taken for empty (empirical Bayes, Robbins 1956).
    """

    visitors: Ints  # of each cell
    n_people: int
    base: Reals  # the rate of each cell if place and epoch said everything
    shape: float

    def __call__(self, cells: Ints, weights: npt.ArrayLike = 1.0) -> Reals:
        """The chance of one person to be in each of some cells of a target.

        The target is one more visitor, where it is known to be: who is drawn from the crowd and found in a
        cell is more often in one where many people are. ``weights`` are the chances that it was there.
        """
        seen = self.shape + self.visitors[cells] + np.asarray(weights)
        return np.minimum(seen / (self.shape / self.base[cells] + self.n_people), _MOST)

    @property
    def everywhere(self) -> Reals:
        """The same of all cells, of which no target says anything."""
        return self(np.arange(self.visitors.size), 0.0)


def reference_rates(reference: Traces) -> ReferenceRates:
    """Estimate the rates of all cells, and how much they differ from those of their place and epoch."""
    visitors, n_people = reference.visitors(), reference.n_people
    table = visitors.reshape(reference.map.n_places, reference.map.n_epochs)
    total = float(table.sum())
    space, time = (
        (_HALF + table.sum(axis=axis)) / (_HALF * table.shape[1 - axis] + total) for axis in (1, 0)
    )
    base = np.minimum(max(total, _HALF) / n_people * np.outer(space, time).ravel(), _MOST)
    return ReferenceRates(visitors, n_people, base, _likeliest_shape(visitors, n_people * base))


def _likeliest_shape(visitors: Ints, expected: Reals) -> float:
    from scipy.optimize import minimize_scalar

    some = visitors[visitors > 0]

    def cost(log_shape: float) -> float:
        """Minus the log-likelihood of negative binomial counts, up to a constant."""
        shape = np.exp(log_shape)
        ways = gammaln(some + shape).sum() - some.size * gammaln(shape)
        return float(visitors @ np.log(shape + expected) + shape * np.log1p(expected / shape).sum() - ways)

    return float(np.exp(minimize_scalar(cost, bounds=_SHAPES, method="bounded").x))
