"""How often people are in each cell, estimated from reference traces or from earlier releases."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.locations.counts.count_priors import round_shapes
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.knowledge import PastReleasesKnowledge
from leakgauge.domains.locations.mobility.deconvolution import deconvolve_together, expected_group_size
from leakgauge.domains.locations.mobility.rate_likelihood import rate_likelihood

_PSEUDO_VISITS = 0.5  # added to every place and epoch, so that no rate is zero
_MIN_RATE, _MAX_RATE = 1e-9, 0.999  # estimated rates are clipped to this range
_BASE_STEP = 0.02  # of the logs of rates that are counted as equal
_LOG_SHAPE_RANGE = (-6.0, 9.0)  # search range for the log of the shape
_LOG_SHAPE_ERROR = 1e-3  # far below its standard error; shapes of cells are rounded within 2.5 %
_LOG_SHAPE_NEAR = np.array([-0.6, 0.6])  # around a first estimate: mostly enough, and searched faster
_SHRINKAGES = (1.0, 3.0, 10.0)
_FIFTHS = np.arange(5) // 2 == np.arange(3)[:, None]  # the reference: for rates, to predict, and whose cells
_MIN_STIRLING = 10.0  # least number for which Stirling's series is used
_TOLERANCE = 0.1  # of the squared error of predictions for held-out people
_MIN_HELD_OUT = 20  # people of the last fifth
_MAX_SPARSE = 32  # numbers are counted, and not sorted, if they are below so many times how many they are
_N_POOLED_RELEASES = 50  # releases used to estimate how popular places and epochs are


@dataclass(frozen=True, eq=False)
class ReferenceRates:
    """Rates of cells, estimated from their visitors and from the popularity of place and epoch.

    The rate of a cell has a beta distribution whose mean is the product of the popularities of its place and
    its epoch, and whose first parameter is ``shape``, the same for all cells. It maximises the likelihood of
    the visitors of all cells, which are then beta-binomial (Skellam 1948). A rate is its posterior mean given
    the visitors, so that cells with few visitors are not treated as empty (empirical Bayes, Robbins 1956).

    Where a person adds up to ``max_value`` to a cell, each counts as so many people.

    With a ``shrinkage`` above 1, the mean is that of so many times the shape: closer to the popularities of
    place and epoch, and less dependent on who is in the reference. How uncertain a rate is, and what the
    visit of a target says about it, still follow from ``shape``.
    """

    visitors: Ints  # of each cell
    n_people: int
    base: Reals  # the rate of each cell from the popularities of place and epoch alone
    shape: float
    shrinkage: float = 1.0

    def __call__(self, cells: Ints | slice, weights: npt.ArrayLike = 1.0) -> Reals:
        """Return the probability that one person is in each of some cells of a target.

        The target counts as one more visitor of its cells: a person drawn from the crowd is more often in
        cells with many visitors. ``weights`` is the probability that the target visited each cell.
        """
        prior, seen = self.shrinkage * self.shape, self.visitors[cells]
        rates = (prior + seen) / (prior / self.base[cells] + self.n_people)
        if np.any(weights):
            rates *= 1 + np.asarray(weights) / (self.shape + seen)
        return np.minimum(rates, _MAX_RATE)

    def shapes(self, cells: Ints, weights: npt.ArrayLike = 1.0) -> Reals:
        """Return the first parameters of the posterior beta distributions of these rates, rounded."""
        return round_shapes(self.shape + self.visitors[cells] + np.asarray(weights))

    @property
    def everywhere(self) -> Reals:
        """The rates of all cells, without a target."""
        return self(slice(None), 0.0)


def rates_from_reference(reference: Traces) -> ReferenceRates:
    """Estimate the rates of all cells, and how much they vary beyond the popularity of place and epoch.

    They are computed once for a reference: they are the same for all releases and attacks.
    """
    return reference.once("rates", lambda: _rates_from_reference(reference))


def _rates_from_reference(reference: Traces) -> ReferenceRates:
    visitors = reference.once("visitors", reference.visitors)
    n_people = reference.n_people * reference.map.max_value
    base = _popularities(visitors, n_people, reference.map)
    return ReferenceRates(visitors, n_people, base, _likeliest_shape(visitors, n_people, base))


def _popularities(visitors: Ints, n_people: int, cells: CellMap) -> Reals:
    """Return the rate of each cell from the popularities of its place and its epoch."""
    table = visitors.reshape(cells.n_places, cells.n_epochs)
    total = float(table.sum())
    space, time = (
        (_PSEUDO_VISITS + table.sum(axis=axis)) / (_PSEUDO_VISITS * table.shape[1 - axis] + total)
        for axis in (1, 0)
    )
    return np.minimum(max(total, _PSEUDO_VISITS) / n_people * np.outer(space, time).ravel(), _MAX_RATE)


def shrunk_rates_from_reference(reference: Traces, group_size: int) -> ReferenceRates:
    """Estimate the rates with a shrinkage chosen on held-out people; computed once for a reference."""
    return reference.once(
        ("shrunk rates", group_size),
        lambda: shrink_by_held_out(rates_from_reference(reference), reference, group_size),
    )


def shrink_by_held_out(rates: ReferenceRates, reference: Traces, group_size: int) -> ReferenceRates:
    """Return the rates with the strongest shrinkage that predicts held-out people nearly as well as any.

    What the visitors of single cells add to a score is partly chance, and differs from one reference to
    another. So they are used only where they clearly help to predict other people. Rates from two fifths of
    the reference predict the visitors, among two fifths, of all cells of a person of the last fifth. The
    errors of cells are relative to their counts in a group, plus one, and add up over the cells of a person.
    Nearly as well means a mean squared error that is larger by at most 10 %.
    """
    parts = _FIFTHS[:, np.arange(reference.n_people) % 5]
    if parts[2].sum() < _MIN_HELD_OUT:
        return rates
    visits, cells = reference.of(np.flatnonzero(parts[2])).visits, reference.map
    seen, size, base = [], [], []
    for chosen in parts[:2]:
        visitors = reference.visitors(chosen)
        size.append(int(chosen.sum()) * cells.max_value)
        seen.append(visitors[visits.indices])
        base.append(_popularities(visitors, size[-1], cells)[visits.indices])
    scale = base[1] + 1 / group_size
    found, expected = seen[1] / (size[1] * scale), base[1] / (base[0] * scale)
    squares = []
    for shrinkage in _SHRINKAGES:
        own = ReferenceRates(seen[0], size[0], base[0], rates.shape, shrinkage)
        errors = np.append(0.0, np.cumsum(found - expected * own(slice(None))))
        squares.append(np.square(np.diff(errors[visits.indptr])).mean())
    chosen = np.flatnonzero(squares <= (1 + _TOLERANCE) * np.min(squares))[-1]
    return replace(rates, shrinkage=_SHRINKAGES[chosen])


def _likeliest_shape(visitors: Ints, n_people: int, base: Reals) -> float:
    """Return the shape that maximises the beta-binomial likelihood; similar rates are counted as equal."""
    from scipy.optimize import minimize_scalar

    classes = np.round(np.log(base) / _BASE_STEP).astype(np.int64)
    lowest, n_kinds = classes.min(), int(visitors.max()) + 1
    keys, times = _distinct((classes - lowest) * n_kinds + visitors)
    seen, kinds = keys % n_kinds, np.arange(n_kinds)
    some, own = np.unique(keys // n_kinds, return_inverse=True)
    odds = 1 / np.minimum(np.exp(_BASE_STEP * (some + lowest)), _MAX_RATE) - 1  # against a visit

    def cost(log_shape: float) -> float:
        """Minus the log-likelihood of beta-binomial counts, up to a constant."""
        shape = np.exp(log_shape)
        rest = shape * odds
        log_beta = gammaln(kinds + shape)[seen] + log_gamma_ratio(
            (n_people + shape + rest)[own], seen + shape
        )
        return float(-times @ (log_beta - betaln(shape, rest)[own]))

    near = _log_shape_of_variance(visitors, n_people, base)
    for bounds in (near + _LOG_SHAPE_NEAR, _LOG_SHAPE_RANGE):
        found = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": _LOG_SHAPE_ERROR})
        if min(found.x - bounds[0], bounds[1] - found.x) > 10 * _LOG_SHAPE_ERROR:
            break
    return float(np.exp(found.x))


def _log_shape_of_variance(visitors: Ints, n_people: int, base: Reals) -> float:
    """Return the log of the shape with which visitors vary as much as they do; it is near the likeliest."""
    expected = n_people * base
    excess = float(np.square(visitors - expected).sum() - (expected * (1 - base)).sum())
    return float(np.log(np.square(expected).sum() / excess)) if excess > 0 else 0.0


def log_gamma_ratio(numbers: Reals, less: Reals) -> Reals:
    """Return log Gamma(numbers - less) - log Gamma(numbers), without the difference of large numbers.

    By Stirling's series, which is exact within 1e-10 from 10 on.

    >>> log_gamma_ratio(np.array([12.0]), np.array([1.0])).round(9) == -np.log(11.0).round(9)
    array([ True])
    """
    left = numbers - less
    if left.min() < _MIN_STIRLING:
        return np.asarray(gammaln(left) - gammaln(numbers))
    logs = (left - 0.5) * np.log1p(-less / numbers) - less * np.log(numbers) + less
    return np.asarray(logs + _stirling_rest(left) - _stirling_rest(numbers))


def _stirling_rest(numbers: Reals) -> Reals:
    """Return log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2."""
    inverse = 1 / numbers
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square / 1260))


def _distinct(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the distinct numbers in rising order, none negative, and how often each occurs."""
    if numbers.max() > _MAX_SPARSE * numbers.size:
        return np.unique(numbers, return_counts=True)
    times = np.bincount(numbers)
    distinct = np.flatnonzero(times)
    return distinct, times[distinct]


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


def clip_rates(rates: Reals) -> Reals:
    """Clip estimated rates to those that counts are computed for."""
    return np.clip(rates, _MIN_RATE, _MAX_RATE)


def given_visits(rates: Reals, shapes: Reals, weights: Reals) -> tuple[Reals, Reals]:
    """Return means and shapes of gamma distributed rates, given that a target visited the cells.

    ``weights`` is the probability that it did. The rates are clipped, and the shapes rounded.
    """
    with np.errstate(invalid="ignore"):
        more = np.where(np.isfinite(shapes), 1 + weights / shapes, 1.0)
    return clip_rates(rates * more), round_shapes(shapes + weights + 0 * rates)
