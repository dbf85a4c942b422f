"""Rates of many units with few trials each, estimated together: no unit looks extreme by luck alone."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

_GRID = 201  # rates considered, from 0 to 1
_ITERATIONS = 500
_ENOUGH = 1e-7  # change of the log-likelihood per unit at which the fit ends


@dataclass(frozen=True, eq=False)
class ShrunkenRates:
    """The rate of each unit given its own trials and those of all units: mean and standard deviation."""

    mean: Reals
    deviation: Reals


def shrunken_rates(successes: npt.NDArray[np.int64], trials: int | npt.NDArray[np.int64]) -> ShrunkenRates:
    """Estimate a rate for each unit from its number of successes; each may have its own number of trials.

    Rates follow an unknown distribution over the units, which is fitted by maximum likelihood on a grid
    without any assumption on its shape (Kiefer and Wolfowitz 1956, by expectation-maximisation). The rate of
    a unit is then its posterior mean, which is calibrated also for units that were selected as extreme.

    >>> shrunken_rates(np.full(1000, 8), 16).mean[0].round(2)
    np.float64(0.5)
    """
    counts = np.asarray(successes)
    totals = np.broadcast_to(trials, counts.shape)
    if not ((totals >= 1) & (counts >= 0) & (counts <= totals)).all():
        raise BadInput(f"successes must be between 0 and the {trials} trials")
    grid = np.linspace(0.0, 1.0, _GRID)
    pairs = np.stack([counts, totals])
    seen, place, units = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    likelihood = stats.binom.pmf(seen[0][:, None], seen[1][:, None], grid)  # different counts x grid
    posterior = likelihood * _mixing_weights(likelihood, units / counts.size)
    posterior /= posterior.sum(axis=1, keepdims=True)
    mean = posterior @ grid
    deviation = np.sqrt(np.maximum(posterior @ grid**2 - mean**2, 0.0))
    return ShrunkenRates(mean[place], deviation[place])


def _mixing_weights(likelihood: Reals, units: Reals) -> Reals:
    """The distribution of rates on the grid under which the counts of the units are most likely."""
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    last = -np.inf
    for _ in range(_ITERATIONS):
        mixture = likelihood @ weights
        fit = float(units @ np.log(mixture))
        if fit - last < _ENOUGH:
            break
        last = fit
        weights = weights * (likelihood.T @ (units / mixture))
    return weights
