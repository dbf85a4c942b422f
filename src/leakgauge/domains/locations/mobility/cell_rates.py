"""How often people are in each cell, estimated from reference traces or from earlier releases.

Groups differ: one has more active people, or more people who live near some place. All cells of a release
together show this. An attack that reads only the target's cells, and compares them with the usual counts,
would mistake it for the presence of the target. So the rates of places and epochs in one release are also
estimated relative to the reference.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from leakgauge.core.game import Reals
from leakgauge.domains.locations.counts.count_priors import round_shapes
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.data.traces import CellMap, Ints, Traces
from leakgauge.domains.locations.knowledge import PastReleasesKnowledge
from leakgauge.domains.locations.mobility.deconvolution import deconvolve_together, expected_group_size
from leakgauge.domains.locations.mobility.rate_likelihood import RateLikelihood, rate_likelihood

_PSEUDO_VISITS = 0.5  # added to every place and epoch, so that no rate is zero
_MAX_RATE = 0.999  # estimated rates are at most this
_BASE_STEP = 0.02  # of the logs of rates that are counted as equal
_LOG_SHAPE_RANGE = (-6.0, 9.0)  # search range for the log of the shape
_N_POOLED_RELEASES = 50  # releases used to estimate how popular places and epochs are
_N_ITERATIONS = 4
_STEP = 0.02  # of log-rates in the tables of slopes
_MAX_CHANGE = 0.5  # of a log factor in one iteration
_BLOCK_CELLS = 2**21  # cells of all releases in a block


@dataclass(frozen=True, eq=False)
class ReferenceRates:
    """Rates of cells, estimated from their visitors and from the popularity of place and epoch.

    The rate of a cell has a beta distribution whose mean is the product of the popularities of its place and
    its epoch, and whose first parameter is ``shape``, the same for all cells. It maximises the likelihood of
    the visitors of all cells, which are then beta-binomial (Skellam 1948). A rate is its posterior mean given
    the visitors, so that cells with few visitors are not treated as empty (empirical Bayes, Robbins 1956).

    Where a person adds up to ``max_value`` to a cell, each counts as so many people.
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

    def shapes(self, cells: Ints, weights: npt.ArrayLike = 1.0) -> Reals:
        """Return the first parameters of the posterior beta distributions of these rates, rounded."""
        return round_shapes(self.shape + self.visitors[cells] + np.asarray(weights))

    @property
    def everywhere(self) -> Reals:
        """The rates of all cells, without a target."""
        return self(np.arange(self.visitors.size), 0.0)


def rates_from_reference(reference: Traces) -> ReferenceRates:
    """Estimate the rates of all cells, and how much they vary beyond the popularity of place and epoch."""
    visitors, n_people = reference.visitors(), reference.n_people * reference.map.max_value
    table = visitors.reshape(reference.map.n_places, reference.map.n_epochs)
    total = float(table.sum())
    space, time = (
        (_PSEUDO_VISITS + table.sum(axis=axis)) / (_PSEUDO_VISITS * table.shape[1 - axis] + total)
        for axis in (1, 0)
    )
    base = np.minimum(max(total, _PSEUDO_VISITS) / n_people * np.outer(space, time).ravel(), _MAX_RATE)
    return ReferenceRates(visitors, n_people, base, _likeliest_shape(visitors, n_people, base))


def _likeliest_shape(visitors: Ints, n_people: int, base: Reals) -> float:
    """Return the shape that maximises the beta-binomial likelihood; similar rates are counted as equal."""
    from scipy.optimize import minimize_scalar

    classes = np.round(np.log(base) / _BASE_STEP).astype(np.int64)
    lowest, n_kinds = classes.min(), int(visitors.max()) + 1
    keys, times = np.unique((classes - lowest) * n_kinds + visitors, return_counts=True)
    seen, means = keys % n_kinds, np.minimum(np.exp(_BASE_STEP * (keys // n_kinds + lowest)), _MAX_RATE)

    def cost(log_shape: float) -> float:
        """Minus the log-likelihood of beta-binomial counts, up to a constant."""
        shape = np.exp(log_shape)
        rest = shape * (1 - means) / means
        return float(-times @ (betaln(seen + shape, n_people - seen + rest) - betaln(shape, rest)))

    return float(np.exp(minimize_scalar(cost, bounds=_LOG_SHAPE_RANGE, method="bounded").x))


def rates_from_past(past: PastReleasesKnowledge, law: ReleaseDistribution) -> tuple[tuple[Reals, Reals], ...]:
    """Return the posterior mean of each rate given the outputs of its cell, for each target, and its shape.

    The shape is that of the gamma distribution with the mean and variance of the posterior. The prior of a
    rate is an exponential distribution whose mean is the product of the popularities of place and epoch. The
    targets are counted like anybody else.
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
        belief /= belief.sum(axis=1, keepdims=True)
        means, squares = (belief @ np.exp(power * evidence.log_rates) for power in (1, 2))
        with np.errstate(divide="ignore"):
            shapes = means**2 / np.maximum(squares - means**2, 0.0)
        rates.append((means / size, round_shapes(shapes)))
    return tuple(rates)


@dataclass(frozen=True, eq=False)
class GroupEffectsModel:
    """Fits a factor for each place and each epoch to a release, by maximum a posteriori.

    The prior of the log of a factor is normal with mean zero and with its variance between random groups of
    the reference.
    """

    law: ReleaseDistribution
    size: int  # of the group
    usual: Reals  # rates of all cells: places x epochs
    space: Reals  # variances of the logs: of places
    time: Reals  # and of epochs

    def factors(self, releases: Reals) -> "GroupEffects":
        """Fit the factors of each release, given over all cells."""
        n_places, n_epochs = self.usual.shape
        evidence = rate_likelihood(releases, self.law, self.size)
        block = max(1, _BLOCK_CELLS // self.usual.size)
        parts = [
            self._fit(releases[first : first + block].reshape(-1, n_places, n_epochs), evidence)
            for first in range(0, len(releases), block)
        ]
        return GroupEffects(*(np.concatenate(logs) for logs in zip(*parts, strict=True)))

    def _fit(self, tables: Reals, evidence: RateLikelihood) -> tuple[Reals, Reals]:
        """Fit by Newton's method, alternating places and epochs; the prior keeps every step finite."""
        slopes = LikelihoodSlopes.of(evidence, tables)
        base = np.log(self.size * self.usual)
        place, epoch = np.zeros(tables.shape[:2]), np.zeros((len(tables), tables.shape[2]))
        for _ in range(_N_ITERATIONS):
            rises, bends = slopes.at(base + place[:, :, None] + epoch[:, None, :])
            place += _step(rises.sum(axis=2), bends.sum(axis=2), place, self.space)
            rises, bends = slopes.at(base + place[:, :, None] + epoch[:, None, :])
            epoch += _step(rises.sum(axis=1), bends.sum(axis=1), epoch, self.time)
        return place, epoch


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """Log factors by which places and epochs were busier than usual: a row for each release."""

    place: Reals
    epoch: Reals

    def at(self, cells: Ints) -> Reals:
        """Return the factors of some cells: releases x cells."""
        n_epochs = self.epoch.shape[1]
        return np.exp(self.place[:, cells // n_epochs] + self.epoch[:, cells % n_epochs])


@dataclass(frozen=True, eq=False)
class LikelihoodSlopes:
    """Derivatives of the log-likelihood of outputs with respect to their log rates, tabulated."""

    first: float  # log-rate
    rises: Reals  # log-rates x outputs
    bends: Reals  # minus the second derivatives
    columns: Ints  # of each output

    @classmethod
    def of(cls, evidence: RateLikelihood, outputs: Reals) -> "LikelihoodSlopes":
        """Tabulate the derivatives of the evidence."""
        nodes = np.arange(evidence.log_rates[0], evidence.log_rates[-1], _STEP)
        values, columns = _tabled_outputs(outputs, evidence)
        rises = np.gradient(evidence.at(nodes), _STEP, axis=0) @ evidence.of(values).T
        return cls(float(nodes[0]), rises, -np.gradient(rises, _STEP, axis=0), columns)

    def at(self, log_rates: Reals) -> tuple[Reals, Reals]:
        """Return the first derivative, and minus the second."""
        nodes = (log_rates - (self.first - _STEP / 2)) / _STEP
        np.clip(nodes, 0, len(self.rises) - 1, out=nodes)
        places = nodes.astype(np.int64) * self.rises.shape[1] + self.columns
        return self.rises.ravel().take(places), self.bends.ravel().take(places)


def _tabled_outputs(outputs: Reals, evidence: RateLikelihood) -> tuple[Reals, Ints]:
    """Return the outputs to tabulate, and for each output the index of the nearest one."""
    values = evidence.outputs
    if evidence.cut:
        values = np.union1d(values, outputs[outputs > values[-1]])
    above = np.searchsorted(values, outputs).clip(1, values.size - 1)
    nearer_below = outputs - values[above - 1] < values[above] - outputs
    return values, above - nearer_below


def _step(slope: Reals, bend: Reals, logs: Reals, variance: Reals) -> Reals:
    return np.clip(
        (variance * slope - logs) / (variance * np.maximum(bend, 0.0) + 1), -_MAX_CHANGE, _MAX_CHANGE
    )


def group_effects_model(
    reference: Traces, law: ReleaseDistribution, size: int, usual: Reals
) -> GroupEffectsModel:
    """Estimate from a reference how groups of a number of people differ."""
    cells: CellMap = reference.map
    people = np.repeat(np.arange(reference.n_people), reference.n_visits)
    visited = reference.visits.indices.astype(np.int64)
    shares = (reference.visitors() / reference.n_people).reshape(cells.n_places, cells.n_epochs)
    most = cells.max_value
    return GroupEffectsModel(
        law,
        most * size,
        usual.reshape(shares.shape),
        _variances(
            people,
            cells.places(visited),
            shares.sum(axis=1),
            (shares**2).sum(axis=1) / most,
            size,
            reference.n_people,
        ),
        _variances(
            people,
            cells.epochs(visited),
            shares.sum(axis=0),
            (shares**2).sum(axis=0) / most,
            size,
            reference.n_people,
        ),
    )


def _variances(people: Ints, where: Ints, means: Reals, squares: Reals, size: int, n_people: int) -> Reals:
    """Return the variance of the log rate of each place (or epoch) in a group, given the reference.

    A group's visits to a place vary because visits are random events, and because some people visit it often.
    The second part is E x^2 - (E x)^2 - sum of r (1 - r) for one person with x visits and rates r. The mean
    of the reference differs from that of the crowd, too, by the variance of its visits.
    """
    pairs, visits = np.unique(where * n_people + people, return_counts=True)
    second = np.bincount(pairs // n_people, visits.astype(np.float64) ** 2, means.size) / n_people
    own = np.maximum(second - means**2, 0.0)
    excess = np.maximum(own - (means - squares), 0.0)
    return np.log1p((excess / size + own / n_people) / np.maximum(means, 1 / n_people) ** 2)
