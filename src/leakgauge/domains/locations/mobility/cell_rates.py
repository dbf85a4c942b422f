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

_PSEUDO_VISITS = 0.5  # added to every place and epoch, so that no rate is zero
_MAX_RATE = 0.999  # estimated rates are at most this
_LOG_SHAPE_RANGE = (-6.0, 9.0)  # search range for the log of the shape
_N_POOLED_RELEASES = 50  # releases used to estimate how popular places and epochs are


@dataclass(frozen=True, eq=False)
class ReferenceRates:
    """Rates of cells, estimated from their visitors and from the popularity of place and epoch.

    The rate of a cell is the product of the popularities of its place and its epoch, times a factor that
    follows a gamma distribution of mean one. Its ``shape`` maximises the likelihood of the visitors of all
    cells, which are then negative binomial (Greenwood and Yule 1920). A rate is its posterior mean given the
    visitors, so that cells with few visitors are not treated as empty (empirical Bayes, Robbins 1956).
    """

    visitors: Ints  # of each cell
    n_people: int
    base: Reals  # the rate of each cell from the popularities of place and epoch alone
    shape: float

    def __call__(self, cells: Ints, weights: npt.ArrayLike = 1.0) -> Reals:
        """Return the probability that one person is in each of some cells of a target.

        The target counts as one more visitor of its cells: a person drawn from the crowd is more often in
        cells with many visitors. ``weights`` is the probability that the target visited each cell.
        """
        seen = self.shape + self.visitors[cells] + np.asarray(weights)
        return np.minimum(seen / (self.shape / self.base[cells] + self.n_people), _MAX_RATE)

    @property
    def everywhere(self) -> Reals:
        """The rates of all cells, without a target."""
        return self(np.arange(self.visitors.size), 0.0)


def rates_from_reference(reference: Traces) -> ReferenceRates:
    """Estimate the rates of all cells, and how much they vary beyond the popularity of place and epoch."""
    visitors, n_people = reference.visitors(), reference.n_people
    table = visitors.reshape(reference.map.n_places, reference.map.n_epochs)
    total = float(table.sum())
    space, time = (
        (_PSEUDO_VISITS + table.sum(axis=axis)) / (_PSEUDO_VISITS * table.shape[1 - axis] + total)
        for axis in (1, 0)
    )
    base = np.minimum(max(total, _PSEUDO_VISITS) / n_people * np.outer(space, time).ravel(), _MAX_RATE)
    return ReferenceRates(visitors, n_people, base, _likeliest_shape(visitors, n_people * base))


def _likeliest_shape(visitors: Ints, expected: Reals) -> float:
    from scipy.optimize import minimize_scalar

    positive = visitors[visitors > 0]

    def cost(log_shape: float) -> float:
        """Minus the log-likelihood of negative binomial counts, up to a constant."""
        shape = np.exp(log_shape)
        ways = gammaln(positive + shape).sum() - positive.size * gammaln(shape)
        return float(visitors @ np.log(shape + expected) + shape * np.log1p(expected / shape).sum() - ways)

    return float(np.exp(minimize_scalar(cost, bounds=_LOG_SHAPE_RANGE, method="bounded").x))


def rates_from_past(past: PastReleasesKnowledge, law: ReleaseDistribution) -> tuple[Reals, ...]:
    """Return the posterior mean of each rate given the outputs of its cell, for each target.

    The prior of a rate is an exponential distribution whose mean is the product of the popularities of place
    and epoch. The targets are counted like anybody else.
    """
    size = expected_group_size(past.public)
    base = deconvolve_together(past.releases[:_N_POOLED_RELEASES], law, size, past.public.map).rates
    evidence = rate_likelihood(past.releases, law, size)
    rates = []
    for target, sketch in enumerate(past.sketches):
        outputs = past.releases[np.ix_(~past.members[:, target], sketch.cells)]
        beyond = evidence.log_rates - np.log(size * base[sketch.cells])[:, None]
        belief = evidence.of(outputs).sum(axis=0) @ evidence.curves.T + beyond - np.exp(beyond)
        belief = np.exp(belief - belief.max(axis=1, keepdims=True))
        rates.append(belief @ np.exp(evidence.log_rates) / belief.sum(axis=1) / size)
    return tuple(rates)
