"""Mechanisms that select an option by its utility, and exact probabilities: integrals over hidden noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms import name_of
from leakgauge.mechanisms._validation import require_positive, scale_from
from leakgauge.theory import tradeoff


@dataclass(frozen=True, kw_only=True)
class UtilitySelection(ABC):
    """Release the number of one option, those with higher utility more often.

    Values are utilities, options along the last axis; the output is the number of the chosen option, and
    ``log_law`` the log probability of that choice: both have one axis less. ``sensitivity`` is how far one
    protected unit can move each utility. The scale is ``scale``, or else 2 ``sensitivity / epsilon``, or half
    of that if the utilities are ``monotone``: one unit moves them all up or all down. If both are given,
    epsilon is only nominal.
    """

    epsilon: float | None = None
    scale: float | None = None
    sensitivity: float = 1.0
    monotone: bool = False
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_positive(name_of(self), sensitivity=self.sensitivity, scale=self.noise_scale)

    @abstractmethod
    def log_probabilities(self, utilities: Reals) -> Reals:
        """Log probability of each option; utilities are in scales, options along the last axis."""

    @property
    def noise_scale(self) -> float:
        """The scale in use."""
        return scale_from(name_of(self), self.epsilon, self.scale, self._reach)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the scale: how far one utility can move relative to the others, in scales.

        It is reached in the limit of an option that is almost never chosen.
        """
        epsilon = self._reach / self.noise_scale
        return Guarantee(
            epsilon=epsilon,
            relation=self.relation,
            unit=self.unit,
            sensitivity=self.sensitivity,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon,
        )

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each choice given the utilities."""
        return chosen_log_probabilities(outputs, self.log_probabilities(values / self.noise_scale))

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The exact trade-off between two vectors of utilities; unknown for several choices at once."""
        if low.ndim != 1:
            return None
        laws = (np.exp(self.log_probabilities(values / self.noise_scale)) for values in (low, high))
        return tradeoff.exact_curve(*laws)

    @property
    def _reach(self) -> float:
        return self.sensitivity if self.monotone else 2 * self.sensitivity


def chosen_log_probabilities(outputs: Reals, log_probabilities: Reals) -> Reals:
    """Look up the log probabilities of the chosen options; -inf for a number that is not an option."""
    shape = np.broadcast_shapes(outputs.shape, log_probabilities.shape[:-1])
    n_options = log_probabilities.shape[-1]
    outputs = np.broadcast_to(outputs, shape)
    possible = (outputs == np.floor(outputs)) & (outputs >= 0) & (outputs < n_options)
    places = np.where(possible, outputs, 0).astype(np.int64)[..., None]
    table = np.broadcast_to(log_probabilities, (*shape, n_options))
    return np.where(possible, np.take_along_axis(table, places, axis=-1)[..., 0], -np.inf)


def map_unique_rows(rows: Reals, law: Callable[[Reals], Reals]) -> Reals:
    """Apply a distribution to the rows along the last axis; equal rows are computed once."""
    flat = rows.reshape(-1, rows.shape[-1])
    different, place = np.unique(flat, axis=0, return_inverse=True)
    results = np.array([law(row) for row in different])
    return results[place.ravel()].reshape((*rows.shape[:-1], *results.shape[1:]))


_NODES = 24  # per piece
_REACH = 80.0  # slowest scales beyond the last kink: the rest is below e^-80


def log_integral(
    log_density: Callable[[Reals], Reals], kinks: Reals, fastest: float, slowest: float
) -> Reals:
    """Integrate e^log_density over the line; a further axis of the density holds several integrands.

    Between its kinks the density is a sum of exponentials; it changes on scales from ``fastest`` to
    ``slowest`` and falls off beyond the outer kinks. Pieces grow in powers of two with the distance from each
    kink, with Gauss-Legendre nodes in each.
    """
    reach = _REACH * slowest + np.ptp(kinks)
    n_powers = max(1, int(np.ceil(np.log2(reach / fastest))))
    offsets = fastest * 2.0 ** np.arange(n_powers + 1)
    offsets = np.concatenate([-offsets[::-1], [0.0], offsets])
    ends = np.unique(np.add.outer(np.unique(kinks), offsets))
    nodes, log_weights = _rule()
    lengths = np.diff(ends)
    places = (ends[:-1, None] + lengths[:, None] * nodes).ravel()
    logs = (np.log(lengths)[:, None] + log_weights).ravel()
    densities = log_density(places)
    return np.asarray(scipy.special.logsumexp((densities.T + logs).T, axis=0))


def log_laplace_cdf(distance: Reals) -> Reals:
    """Log probability that Laplace noise of scale 1 lies below each distance.

    >>> float(np.exp(log_laplace_cdf(np.array(0.0))))
    0.5
    """
    tail = -np.abs(distance) - np.log(2)
    return np.where(distance < 0, tail, np.log1p(-np.exp(tail)))


@cache
def _rule() -> tuple[Reals, Reals]:
    """Nodes on the unit interval, and the logarithms of their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, np.log(weights / 2)
