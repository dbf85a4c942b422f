"""Sparse vector: release which queries are above a threshold, up to a number of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._selection_laws import log_integral, log_laplace_cdf, map_unique_rows
from leakgauge.mechanisms._validation import require_positive, require_whole
from leakgauge.theory import tradeoff

_MOST_OUTPUTS = 4000  # that are enumerated for an exact trade-off


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Compare noisy queries with one noisy threshold; stop after ``limit`` of them were above.

    (Dwork and Roth 2014, algorithm 1, for a limit of 1; Lyu, Su and Li 2017, algorithm 1.) Values are query
    answers along the last axis. An output has the same shape: 1 above, 0 below, -1 after the end. ``log_law``
    is the log probability of a whole row of outputs: it has one axis less.

    ``sensitivity`` is how far one protected unit can move each query. Half of epsilon goes to the threshold
    and half to the queries, unless both ``threshold_scale`` and ``query_scale`` say otherwise; then epsilon
    is only nominal. Queries are ``monotone`` if one unit moves them all up or all down.
    """

    epsilon: float | None = None
    threshold: float = 0.0
    limit: int = 1
    sensitivity: float = 1.0
    monotone: bool = False
    threshold_scale: float | None = None
    query_scale: float | None = None
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        numbers = ("epsilon", "sensitivity", "threshold_scale", "query_scale")
        require_positive("sparse_vector", **{name: getattr(self, name) for name in numbers})
        require_whole("sparse_vector", "limit", self.limit, 1)
        if not np.isfinite(self.threshold):
            raise BadInput(f"sparse_vector: threshold must be a finite number, got {self.threshold}")
        if (self.threshold_scale is None) != (self.query_scale is None):
            raise BadInput("sparse_vector: threshold_scale and query_scale go together; give both or neither")
        if self.epsilon is None and self.query_scale is None:
            raise BadInput("sparse_vector: neither epsilon nor both scales are given; add epsilon = ...")
        require_positive("sparse_vector", threshold_scale=self.scales[0], query_scale=self.scales[1])

    @property
    def scales(self) -> tuple[float, float]:
        """The noise scales in use: of the threshold, and of every query."""
        if self.threshold_scale is not None and self.query_scale is not None:
            return self.threshold_scale, self.query_scale
        assert self.epsilon is not None
        half = self.epsilon / 2
        return self.sensitivity / half, self.limit * self._reach / half

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the scales: the threshold moves, and every query above it relative to it.

        It is reached in the limit of many queries far below, and of queries above with a tiny probability.
        """
        threshold_scale, query_scale = self.scales
        epsilon = self.sensitivity / threshold_scale + self.limit * self._reach / query_scale
        return Guarantee(
            epsilon=epsilon,
            relation=self.relation,
            unit=self.unit,
            sensitivity=self.sensitivity,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon,
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        threshold_scale, query_scale = self.scales
        bar = self.threshold + rng.laplace(scale=threshold_scale, size=(*values.shape[:-1], 1))
        above = values + rng.laplace(scale=query_scale, size=values.shape) >= bar
        return np.where(self._over(above), -1.0, above)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each row of outputs given its answers: an integral over the noisy threshold."""
        outputs, values = np.broadcast_arrays(outputs, values)
        both = np.concatenate([outputs, values], axis=-1)
        return map_unique_rows(both, self._log_probability)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The exact trade-off between two rows of answers; unknown for several rows, or too many outputs."""
        n_outputs = sum(comb(low.shape[-1], n) for n in range(self.limit + 1))
        if low.ndim != 1 or n_outputs > _MOST_OUTPUTS:
            return None
        outputs = np.array(list(self._all_outputs(low.size)))
        return tradeoff.exact_curve(*(np.exp(self.log_law(outputs, values)) for values in (low, high)))

    @property
    def _reach(self) -> float:
        """How far a query can move relative to the moved threshold."""
        return self.sensitivity if self.monotone else 2 * self.sensitivity

    def _over(self, above: Bits) -> Bits:
        """Which queries come after the last one allowed above."""
        return np.asarray(np.cumsum(above, axis=-1) - above >= self.limit)

    def _all_outputs(self, n_queries: int) -> Iterator[Reals]:
        for n_above in range(self.limit + 1):
            for places in combinations(range(n_queries), n_above):
                above = np.isin(np.arange(n_queries), places)
                yield np.where(self._over(above), -1.0, above)

    def _log_probability(self, row: Reals) -> Reals:
        outputs, values = np.split(row, 2)
        above = outputs == 1
        if not (outputs == np.where(self._over(above), -1.0, above)).all():
            return np.asarray(-np.inf)
        threshold_scale, query_scale = self.scales
        answered = outputs >= 0
        distance = values[answered] - self.threshold
        return log_integral(
            partial(_log_density, distance, above[answered], threshold_scale, query_scale),
            np.append(0.0, distance),
            fastest=1 / (1 / threshold_scale + answered.sum() / query_scale),
            slowest=max(threshold_scale, query_scale),
        )


def _log_density(
    distance: Reals, above: Bits, threshold_scale: float, query_scale: float, move: Reals
) -> Reals:
    """Log density of a move of the threshold together with these outputs; queries relative to it."""
    log_threshold = -np.abs(move) / threshold_scale - np.log(2 * threshold_scale)
    sides = np.where(above, -1.0, 1.0) * (move[:, None] - distance) / query_scale
    return log_threshold + log_laplace_cdf(sides).sum(axis=1)
