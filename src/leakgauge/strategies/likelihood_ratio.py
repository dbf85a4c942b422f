"""The log-likelihood ratio of outputs under a known noise distribution."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals

_LARGEST = 1e6  # stands for certainty


@dataclass(frozen=True, eq=False)
class LogLikelihoodRatio:
    """Log of how much likelier outputs are with ``high`` than with ``low`` (Neyman and Pearson 1933).

    ``log_law(outputs, values)`` is the log density of single values, which are then summed, or of whole rows.
    An output possible under only one of the two gets a very large score; one possible under neither gets 0.
    """

    log_law: Callable[[Reals, Reals], Reals]
    low: Reals
    high: Reals

    def __call__(self, outputs: Sequence[Any] | Reals) -> Reals:
        released = np.asarray(outputs, dtype=np.float64)
        rows = (len(released), *self.low.shape)
        with_target = self.log_law(released, np.broadcast_to(self.high, rows))
        without = self.log_law(released, np.broadcast_to(self.low, rows))
        neither = np.isneginf(with_target) & np.isneginf(without)
        with np.errstate(invalid="ignore"):
            ratios = np.where(neither, 0.0, with_target - without).reshape(len(released), -1)
        return np.clip(ratios, -_LARGEST, _LARGEST).sum(axis=1)
