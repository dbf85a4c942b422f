"""Gaussians fitted to what shadows say about each record."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Bits, Reals

_LEAST = 1e-6  # standard deviation: models that all say the same leave none


@dataclass(frozen=True, eq=False)
class Gaussians:
    """One for each record."""

    mean: Reals
    deviation: Reals

    def standardised(self, values: Reals) -> Reals:
        """How many standard deviations above the mean."""
        return (values - self.mean) / self.deviation

    def log_density(self, values: Reals) -> Reals:
        """Up to a constant."""
        return -0.5 * self.standardised(values) ** 2 - np.log(self.deviation)


def fit(values: Reals, where: Bits, shared: float | None = None) -> Gaussians:
    """Fit to the values (shadows x records) that count; with ``shared``, that is everybody's deviation."""
    counts = where.sum(axis=0)
    mean = np.where(where, values, 0.0).sum(axis=0) / counts
    if shared is not None:
        return Gaussians(mean, np.full(mean.shape, max(shared, _LEAST)))
    variance = _squares(values, where, mean) / (counts - 1)
    return Gaussians(mean, np.maximum(np.sqrt(variance), _LEAST))


def shared_deviation(values: Reals, where: Bits) -> float:
    """The standard deviation about each record's own mean, over all records that have two values or more."""
    counts = where.sum(axis=0)
    values, where, counts = values[:, counts > 1], where[:, counts > 1], counts[counts > 1]
    if not counts.size:
        return _LEAST
    mean = np.where(where, values, 0.0).sum(axis=0) / counts
    return float(np.sqrt(_squares(values, where, mean).sum() / (counts - 1).sum()))


def _squares(values: Reals, where: Bits, mean: Reals) -> Reals:
    return np.square(np.where(where, values - mean, 0.0)).sum(axis=0)
