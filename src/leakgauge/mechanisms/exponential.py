"""The exponential mechanism: choose one of several options, those with higher utility more often."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import log_softmax

from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._selection_laws import chosen_log_probabilities
from leakgauge.mechanisms._validation import require_positive, scale_from
from leakgauge.theory import tradeoff


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Choose an option with probability proportional to e^(utility / scale) (McSherry and Talwar 2007).

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
        require_positive("exponential", sensitivity=self.sensitivity, scale=self.noise_scale)

    @property
    def noise_scale(self) -> float:
        """The scale in use."""
        return scale_from("exponential", self.epsilon, self.scale, self._reach)

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

    def sample(self, values: Reals, rng: Generator) -> Reals:
        noisy = values / self.noise_scale + rng.gumbel(size=values.shape)
        return np.argmax(noisy, axis=-1).astype(np.float64)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each choice given the utilities."""
        return chosen_log_probabilities(outputs, np.asarray(log_softmax(values / self.noise_scale, axis=-1)))

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The exact trade-off between two vectors of utilities; unknown for several choices at once."""
        if low.ndim != 1:
            return None
        laws = (np.exp(log_softmax(values / self.noise_scale)) for values in (low, high))
        return tradeoff.exact_curve(*laws)

    @property
    def _reach(self) -> float:
        return self.sensitivity if self.monotone else 2 * self.sensitivity
