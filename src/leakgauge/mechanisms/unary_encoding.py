"""Unary encoding: one bit for each category, and every bit is answered at random (basic RAPPOR, OUE)."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.mechanisms._local_reports import CategoryReports, LossCells
from leakgauge.theory.privacy_loss import TernaryCell


class UnaryVariant(StrEnum):
    """How the noise is divided between the bit of the true category and the other bits."""

    OPTIMIZED = "optimized"  # 1/2 and 1 / (e^epsilon + 1): the least variance (Wang et al. 2017)
    SYMMETRIC = "symmetric"  # both with odds of e^(epsilon / 2): basic RAPPOR (Erlingsson et al. 2014)


@dataclass(frozen=True, kw_only=True)
class Mechanism(CategoryReports):
    """Report a bit for each category: the bit of the true one is mostly 1, all others mostly 0.

    Values are numbers of categories, 0 to ``categories`` - 1. An output has one axis more than the values: a
    1 or 0 for each category. ``log_law`` is the log probability of all bits of a value.

    >>> round(Mechanism(epsilon=1.0, categories=4).guarantee.exact_epsilon, 12)
    1.0
    """

    variant: UnaryVariant = UnaryVariant.OPTIMIZED

    @property
    def log_odds(self) -> tuple[float, float]:
        """Log odds of a 1, for the bit of the true category and for each other bit."""
        match self.variant:
            case UnaryVariant.OPTIMIZED:
                return 0.0, -self.epsilon
            case UnaryVariant.SYMMETRIC:
                return self.epsilon / 2, -self.epsilon / 2

    @property
    def exact_epsilon(self) -> float:
        """Two bits differ; the report that says most has the right one set and the other one not."""
        true, other = self.log_odds
        return true - other

    @property
    def support_true(self) -> float:
        return float(scipy.special.expit(self.log_odds[0]))

    @property
    def support_other(self) -> float:
        return float(scipy.special.expit(self.log_odds[1]))

    def supported(self, outputs: Reals) -> Reals:
        return outputs

    def report(self, values: Reals, rng: Generator) -> Reals:
        self.require_categories(values)
        chances = np.where(self._true_bits(values), self.support_true, self.support_other)
        return (rng.random(chances.shape) < chances).astype(np.float64)

    def report_log_law(self, outputs: Reals, values: Reals) -> Reals:
        self.require_categories(values)
        if outputs.ndim == 0 or outputs.shape[-1] != self.categories:
            raise BadInput(
                f"unary_encoding: an output has {self.categories} bits, got an array of shape {outputs.shape}"
            )
        odds = np.where(self._true_bits(values), *self.log_odds)
        law = scipy.special.log_expit(np.where(outputs == 1, odds, -odds))
        return np.where((outputs == 0) | (outputs == 1), law, -np.inf).sum(axis=-1)

    def worst_cells(self) -> LossCells:
        true, other = self.log_odds
        return [
            (TernaryCell(true - other, float(scipy.special.expit(true) * scipy.special.expit(-other))), 1)
        ]

    def _true_bits(self, values: Reals) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
        return np.asarray(values[..., None] == np.arange(self.categories))
