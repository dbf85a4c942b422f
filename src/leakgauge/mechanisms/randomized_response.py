"""Randomized response: each value is one of a few categories, and mostly released unchanged."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._additive import largest_ratio_at_values
from leakgauge.mechanisms._validation import require_positive, require_whole
from leakgauge.theory import loss_composition, privacy_loss


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Release the truth with odds of e^epsilon against each other value (Warner 1965; Kairouz et al. 2016).

    Values are numbers of categories, 0 to ``categories`` - 1. One protected unit can change one value, so
    the sensitivity is one value. ``log_law`` is the probability, value by value.
    """

    epsilon: float
    categories: int = 2
    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_positive("randomized_response", epsilon=self.epsilon)
        require_whole("randomized_response", "categories", self.categories, 2)

    @property
    def guarantee(self) -> Guarantee:
        truth, lie = self._log_probabilities()
        return Guarantee(
            epsilon=truth - lie,
            relation=self.relation,
            unit=self.unit,
            nominal_epsilon=self.epsilon,
            exact_epsilon=truth - lie,
            curve=loss_composition.best_attack(
                [(privacy_loss.ResponseCell(self.epsilon, self.categories), 1)]
            ).high,
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        self._require_categories(values)
        truth, _ = self._log_probabilities()
        lies = rng.random(values.shape) >= np.exp(truth)
        return (values + lies * rng.integers(1, self.categories, size=values.shape)) % self.categories

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each output given its value."""
        self._require_categories(values)
        truth, lie = self._log_probabilities()
        possible = (outputs == np.floor(outputs)) & (outputs >= 0) & (outputs < self.categories)
        return np.where(possible, np.where(outputs == values, truth, lie), -np.inf)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two vectors of values, never below the exact one."""
        self._require_categories(low)
        self._require_categories(high)
        changed = int(np.sum(low != high))
        return loss_composition.best_attack(
            [(privacy_loss.ResponseCell(self.epsilon, self.categories), changed)]
        ).high

    def epsilon_between(self, low: Reals, high: Reals) -> float:
        """Return the epsilon between two vectors of values."""
        return largest_ratio_at_values(self, low, high)

    def _log_probabilities(self) -> tuple[float, float]:
        """The log probability of the true category, and of each other one."""
        total = float(np.logaddexp(self.epsilon, np.log(self.categories - 1)))
        return self.epsilon - total, -total

    def _require_categories(self, values: Reals) -> None:
        known = (values == np.floor(values)) & (values >= 0) & (values < self.categories)
        if not known.all():
            raise BadInput(
                f"randomized_response: values must be whole numbers from 0 to {self.categories - 1}, "
                f"got {values[~known].flat[0]}; number the categories, or raise categories"
            )
