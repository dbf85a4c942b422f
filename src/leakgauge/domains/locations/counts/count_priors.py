"""The attacker's prior distribution of the counts behind a release, and mixtures over it."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln, lambertw, logit, xlog1py, xlogy

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

Ints = npt.NDArray[np.int64]

_MIN_SUM = 1e-200  # smaller sums may have lost terms to underflow
_ENTRIES = 2**20  # entries in a block of sums that are recomputed
_TAIL = 70.0  # the bulk of a count leaves out a probability of e^-70
_MAX_TILT = 300.0  # e^300 is still far from the largest float
_SHAPE_STEP = 0.05  # shapes are rounded within 2.5 %
_MAX_SHAPE = 1e5  # rates known better than this are taken as certain


@dataclass(frozen=True, eq=False)
class LogWeights:
    """Logs of weights, a row for each weighting; and the weights over the largest of their row."""

    logs: Reals

    @cached_property
    def top(self) -> Reals:
        """The largest log of each row."""
        return _finite_max(self.logs, axis=1)

    @cached_property
    def scaled(self) -> Reals:
        """The weights over the largest of their row."""
        return np.asarray(np.exp(self.logs - self.top))


def log_mix(log_weights: Reals | LogWeights, log_law: Reals) -> Reals:
    """Return log sum_c weights[t, c] law[c, x], given logs: one row per weighting t, one column per x.

    One matrix product of scaled numbers; sums that may have lost terms are recomputed term by term.

    >>> log_mix(np.log([[0.5, 0.5]]), np.array([[-900.0], [-900.0]])).round(9).tolist()
    [[-900.0]]
    """
    columns = _finite_max(log_law, axis=0)
    return _log_mixture(_weights(log_weights), log_law, np.exp(log_law - columns), columns)


def log_convolve(log_weights: Reals | LogWeights, log_values: Reals) -> Reals:
    """Do the same for a distribution shifted by the count: law[c, x] = values[C - 1 - c + x] for C counts."""
    weights = _weights(log_weights)
    n_counts = weights.logs.shape[1]
    possible = np.flatnonzero(log_values > -np.inf)
    if possible.size == 1:  # no noise: nothing is summed
        return _moved(weights.logs, n_counts - 1 - int(possible[0]), log_values)
    top = _finite_max(log_values, axis=0)
    scaled = np.ascontiguousarray(shifted_rows(np.exp(log_values - top), n_counts))
    return _log_mixture(weights, shifted_rows(log_values, n_counts), scaled, top)


def _moved(logs: Reals, first: int, log_values: Reals) -> Reals:
    """Return the logs of the counts from ``first`` on, one for each place, plus the one finite value."""
    n_counts = logs.shape[1]
    n = log_values.size - n_counts + 1
    moved = np.full((len(logs), n), -np.inf)
    start, stop = max(0, -first), min(n, n_counts - first)
    moved[:, start:stop] = logs[:, first + start : first + stop] + log_values.max()
    return moved


def _weights(weights: Reals | LogWeights) -> LogWeights:
    return weights if isinstance(weights, LogWeights) else LogWeights(weights)


def _log_mixture(weights: LogWeights, log_law: Reals, scaled_law: Reals, columns: Reals) -> Reals:
    sums = weights.scaled @ scaled_law
    with np.errstate(divide="ignore"):
        mixed = np.log(sums) + weights.top + columns
    again, places = np.nonzero(sums < _MIN_SUM)
    block = max(1, _ENTRIES // weights.logs.shape[1])
    for first in range(0, again.size, block):
        t, x = again[first : first + block], places[first : first + block]
        mixed[t, x] = log_sum(weights.logs[t] + log_law[:, x].T)
    return np.asarray(mixed)


def log_sum(logs: Reals) -> Reals:
    """Return the log of the sum along the last axis, given logs; all of them may be -inf."""
    top = _finite_max(logs, axis=-1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0])


def shifted_rows(values: Reals, n_rows: int) -> Reals:
    """Return the matrix m[i, j] = values[n_rows - 1 - i + j] as a view: a distribution shifted by the count.

    >>> shifted_rows(np.array([1.0, 2.0, 3.0]), 2).tolist()
    [[2.0, 3.0], [1.0, 2.0]]
    """
    (step,), last = values.strides, values[n_rows - 1 :]
    return np.lib.stride_tricks.as_strided(last, (n_rows, last.size), (-step, step), writeable=False)


def _finite_max(logs: Reals, axis: int) -> Reals:
    top = logs.max(axis=axis, keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)


@dataclass(frozen=True, eq=False)
class CountPrior:
    """Distribution of the other people in each cell: unknown people + Binomial(coins, 1/2) + known people.

    ``rates`` is the probability that one unknown person is in a cell, by cell or rounds x cells. ``n_in``
    unknown people are in the group if the target is a member, and ``n_out`` if it is not: the same number
    under add_remove, one more under replace_one. ``coins`` is the number of other targets known to visit a
    cell; each is a member with probability 1/2.

    Of n unknown people, Binomial(n, rate) are in a cell. Where the rate is only estimated, ``shapes`` says
    how well: the rate is then the mean of a beta distribution whose first parameter is the shape, and the
    number is beta-binomial. With k visitors among n reference people and the uniform prior, the shape is
    k + 1. None and infinite shapes stand for certain rates.
    """

    rates: Reals
    n_in: int
    n_out: int
    coins: Ints
    shapes: Reals | None = None  # by cell or rounds x cells, as the rates

    def __post_init__(self) -> None:
        if not ((self.rates >= 0) & (self.rates <= 1)).all():
            odd = self.rates[~((self.rates >= 0) & (self.rates <= 1))].flat[0]
            raise BadInput(
                f"rates, the probability of a person to be in a cell, must be in [0, 1], got {odd}"
            )
        if not 0 <= self.n_in <= self.n_out:
            raise BadInput(
                "the group must be as large without the target, or larger, got "
                f"n_in = {self.n_in} and n_out = {self.n_out}"
            )
        if self.coins.shape != self.rates.shape[-1:] or not (self.coins >= 0).all():
            raise BadInput(f"coins needs a number >= 0 for each of {self.rates.shape[-1]} cells")
        if self.shapes is not None and not (
            self.shapes.shape in (self.rates.shape, self.rates.shape[-1:]) and (self.shapes > 0).all()
        ):
            raise BadInput(f"shapes needs a number > 0 for each of {self.rates.shape[-1]} cells")

    @property
    def sure(self) -> bool:
        """Whether the counts of the others are certain."""
        return self.n_out == 0 and not self.coins.any()

    @property
    def per_round(self) -> bool:
        """Whether rates differ between rounds."""
        return self.rates.ndim == 2


def round_shapes(shapes: Reals) -> Reals:
    """Round shapes within 2.5 %, so that many cells share a table; very large ones become infinite.

    >>> round_shapes(np.array([1.0, 1.01, 7.0, 1e9])).round(3).tolist()
    [1.0, 1.0, 7.029, inf]
    """
    rounded = np.exp(_SHAPE_STEP * np.round(np.log(shapes) / _SHAPE_STEP))
    return np.where(shapes > _MAX_SHAPE, np.inf, rounded)


def log_masses(n: int, rates: Reals, coins: int, counts: range, shape: Reals | float = np.inf) -> Reals:
    """Return the log probability of each count of a range; a row for each rate, of one shape or its own."""
    shapes = np.broadcast_to(shape, rates.shape)[:, None]
    others = _log_others(n, rates[:, None], np.arange(max(counts.start - coins, 0), counts.stop), shapes)
    if not coins:
        return others
    flips = _log_binomial(coins, np.array([[0.5]]), np.arange(coins + 1))[0]
    first = max(counts.start - coins, 0)  # the least count of the others
    sums = np.full((rates.size, len(counts)), -np.inf)
    for heads, flip in enumerate(flips):
        start = first + heads - counts.start  # of the others, among the counts
        if start < len(counts):
            part = sums[:, max(start, 0) :]
            np.logaddexp(part, flip + others[:, max(-start, 0) : len(counts) - start], out=part)
    return sums


def count_window(
    n: int,
    low_rate: float,
    high_rate: float,
    coins: int,
    tilt: float,
    seen: tuple[float, float],
    shape: float = np.inf,
) -> range:
    """Return the relevant counts: others add less than 1e-15 to any average over the outputs ``seen``.

    A noise distribution whose log changes by at most ``tilt`` per count moves the bulk of the counts at most
    to that of the binomial distribution tilted by it, and not beyond the outputs.
    """
    least, most = seen
    low = count_bulk(n, low_rate, coins, shape=shape)
    high = count_bulk(n, high_rate, coins, shape=shape)
    bottom = min(low.start, least - _reach(max(low.variance, least), _TAIL))
    top = max(high.stop, most + _reach(max(high.variance, most), _TAIL))
    if tilt < _MAX_TILT and shape == np.inf:
        bottom = max(bottom, count_bulk(n, low_rate, coins, tilt=-tilt).start)
        top = min(top, count_bulk(n, high_rate, coins, tilt=tilt).stop)
    bottom, top = np.clip([np.floor(bottom), np.ceil(top)], 0, n + coins)
    return range(int(bottom), int(top) + 1)


@dataclass(frozen=True)
class CountBulk:
    """The interval in which a count nearly always lies."""

    start: float
    stop: float
    variance: float


def count_bulk(
    n: int, rate: float, coins: int, *, tilt: float = 0.0, tail: float = _TAIL, shape: float = np.inf
) -> CountBulk:
    """Return the interval that a count, tilted by e^(tilt c), leaves with probability e^-tail on either side.

    By Bernstein's inequality (1927). With a finite shape the probability may be twice as large, and there is
    no tilt.
    """
    if shape < np.inf:
        lows, highs = (count_bulk(n, end, coins, tail=tail) for end in _rate_bulk(rate, shape, tail))
        return CountBulk(lows.start, highs.stop, highs.variance)
    rate, coin = (p * np.exp(tilt) / (1 - p + p * np.exp(tilt)) for p in (rate, 0.5))
    mean, variance = n * rate + coins * coin, n * rate * (1 - rate) + coins * coin * (1 - coin)
    reach = _reach(variance, tail)
    return CountBulk(mean - reach, mean + reach, variance)


def _rate_bulk(rate: float, shape: float, tail: float) -> tuple[float, float]:
    """Return the interval that a beta distributed rate leaves with probability e^-tail on either side.

    A gamma variable of this shape is the product of the beta variable and an independent one, so that the
    beta variable is less spread: Chernoff's bound of the gamma variable, e^(-shape (x - 1 - log x)) at x
    times its mean, holds for both.
    """
    low, high = _gamma_bulk(shape, tail)
    return rate * low, min(rate * high, 1.0)


@lru_cache(maxsize=1024)
def _gamma_bulk(shape: float, tail: float) -> tuple[float, float]:
    edge = -np.exp(-1 - tail / shape)
    high = float(-lambertw(edge, -1).real) if edge < 0 else 1 + 2 * tail / shape
    return float(-lambertw(edge, 0).real), high


def _reach(variance: float, tail: float) -> float:
    return tail / 3 + sqrt((tail / 3) ** 2 + 2 * tail * max(variance, 0.0))


def _log_others(n: int, rates: Reals, counts: Ints, shapes: Reals) -> Reals:
    """Return the log probability of each number of unknown people, beta-binomial with a finite shape.

    ``counts`` are consecutive, and rates and shapes are columns.
    """
    certain = (rates == 0) | (rates == 1) | (shapes == np.inf)
    if certain.all() or not n:
        return _log_binomial(n, rates, counts)
    if certain.any():
        inner = _log_others(n, np.where(certain, 0.5, rates), counts, np.where(certain, 1.0, shapes))
        return np.where(certain, _log_binomial(n, rates, counts), inner)
    logs = np.full((rates.size, counts.size), -np.inf)
    inside, rest = counts[counts <= n], shapes * (1 - rates) / rates
    if inside.size:  # from the first count on, by the ratio of the probabilities of neighbours
        first, before = inside[0], inside[:-1]
        ways = -np.log(n + 1) - betaln(first + 1, n - first + 1)
        steps = logs[:, : inside.size]
        steps[:, :1] = betaln(first + shapes, n - first + rest) - betaln(shapes, rest) + ways
        steps[:, 1:] = np.log((before + shapes) * ((n - before) / (before + 1)) / (n - before - 1 + rest))
        np.cumsum(steps, axis=1, out=steps)
    return logs


def _log_binomial(n: int, rates: Reals, counts: Ints) -> Reals:
    """Return the log probability of each count; -inf where it exceeds n."""
    inside = np.minimum(counts, n)
    ways = np.where(counts <= n, gammaln(n + 1) - gammaln(inside + 1) - gammaln(n - inside + 1), -np.inf)
    if ((rates > 0) & (rates < 1)).all():
        return np.asarray(inside * logit(rates) + (n * np.log1p(-rates) + ways))
    return np.asarray(xlogy(inside, rates) + xlog1py(n - inside, -rates) + ways)
