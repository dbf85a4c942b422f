"""How often people are in each cell, estimated from reference traces or from earlier releases."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from leakgauge.core.game import Reals
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.knowledge import PastReleasesKnowledge
from leakgauge.domains.locations.mobility.deconvolution import deconvolve_together, expected_group_size
from leakgauge.domains.locations.mobility.rate_likelihood import rate_likelihood

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


def rates_from_reference(reference: Traces) -> ReferenceRates:
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


_TOGETHER = 50  # releases that are enough to learn how popular places and epochs are


def rates_from_past(past: PastReleasesKnowledge, law: ReleaseDistribution) -> tuple[Reals, ...]:
    """The mean of each rate given the outputs of its cell, for each target.

    Before it is seen, a rate follows an exponential law whose mean is what the popularity of place and epoch
    says. People who are targets themselves are counted as anybody else.
    """
    size = expected_group_size(past.public)
    base = deconvolve_together(past.releases[:_TOGETHER], law, size, past.public.map).rates
    evidence = rate_likelihood(past.releases, law, size)
    found = []
    for target, sketch in enumerate(past.sketches):
        outputs = past.releases[np.ix_(~past.members[:, target], sketch.cells)]
        beyond = evidence.log_rates - np.log(size * base[sketch.cells])[:, None]
        belief = evidence.of(outputs).sum(axis=0) @ evidence.curves.T + beyond - np.exp(beyond)
        belief = np.exp(belief - belief.max(axis=1, keepdims=True))
        found.append(belief @ np.exp(evidence.log_rates) / belief.sum(axis=1) / size)
    return tuple(found)
