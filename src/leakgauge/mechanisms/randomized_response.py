"""Randomized response: each value is one of a few categories, and mostly released unchanged."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.mechanisms._local_reports import CategoryReports, LossCells
from leakgauge.theory import privacy_loss


@dataclass(frozen=True, kw_only=True)
class Mechanism(CategoryReports):
    """Release the truth with odds of e^epsilon against each other value (Warner 1965; Kairouz et al. 2016).

    Values are numbers of categories, 0 to ``categories`` - 1. One protected unit can change one value, so
    the sensitivity is one value. ``log_law`` is the probability, value by value.
    """

    categories: int = 2

    @property
    def exact_epsilon(self) -> float:
        truth, lie = self._log_probabilities()
        return truth - lie

    @property
    def support_true(self) -> float:
        return float(np.exp(self._log_probabilities()[0]))

    @property
    def support_other(self) -> float:
        return float(np.exp(self._log_probabilities()[1]))

    def supported(self, outputs: Reals) -> Reals:
        return (outputs[..., None] == np.arange(self.categories)).astype(np.float64)

    def report(self, values: Reals, rng: Generator) -> Reals:
        self.require_categories(values)
        lies = rng.random(values.shape) >= self.support_true
        return (values + lies * rng.integers(1, self.categories, size=values.shape)) % self.categories

    def report_log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each output given its value."""
        self.require_categories(values)
        truth, lie = self._log_probabilities()
        possible = (outputs == np.floor(outputs)) & (outputs >= 0) & (outputs < self.categories)
        return np.where(possible, np.where(outputs == values, truth, lie), -np.inf)

    def worst_cells(self) -> LossCells:
        return [(privacy_loss.ResponseCell(self.epsilon, self.categories), 1)]

    def _log_probabilities(self) -> tuple[float, float]:
        """The log probability of the true category, and of each other one."""
        total = float(np.logaddexp(self.epsilon, np.log(self.categories - 1)))
        return self.epsilon - total, -total
