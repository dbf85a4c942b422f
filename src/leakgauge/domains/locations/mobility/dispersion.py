"""How much counts vary beyond the popularities of place and epoch, estimated from one release.

The count of a cell is Poisson with a rate that has a gamma distribution, so that it is negative binomial
(Greenwood and Yule 1920). The shape of the gamma distribution is the same for all cells. Its likelihood is
that of the published counts under the noise distribution of the release.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log
from typing import Any

import numpy as np
from scipy.special import gammaln

from leakgauge.core.arrays import Reals
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.mobility.rate_likelihood import nearest_outputs, round_away, tabled_outputs

SHAPES = np.exp(0.25 * np.arange(-8, 33))  # from 0.14 to 2981, which is nearly no dispersion
_USUAL, _SPREAD = 3.0, 2.0  # mean and standard deviation of the log of a shape, before any release
_LOG_PRIOR = -(((np.log(SHAPES) - _USUAL) / _SPREAD) ** 2) / 2
_STEP = 0.1  # of the logs of expected counts
_LEAST = 1e-5  # expected count
_MOST_OUTPUT = 256  # larger outputs are left out
_RARE = 1e-250  # smaller probabilities count as equal
_TAIL = 25.0  # counts with noise less likely than e^-25 are left out


@dataclass(frozen=True, eq=False)
class DispersionLikelihood:
    """Log-likelihoods of shapes, by expected count and output."""

    outputs: Reals  # rising
    table: Reals  # shapes x (expected counts x outputs)
    most: float  # largest expected count

    def shape(self, released: Reals, expected: Reals) -> float:
        """Return the inverse of the posterior mean of 1 / shape, given outputs and expected counts."""
        used = expected <= self.most
        rows = np.round((np.log(np.maximum(expected[used], _LEAST)) - log(_LEAST)) / _STEP).astype(np.intp)
        pairs = rows * self.outputs.size + nearest_outputs(self.outputs, released[used])
        merit = self.table @ np.bincount(pairs, minlength=self.table.shape[1]) + _LOG_PRIOR
        chances = np.exp(merit - merit.max())
        return float(chances.sum() / (chances @ (1 / SHAPES)))


def estimate_shapes(
    releases: Reals, expected: Iterable[Reals], law: ReleaseDistribution, group_size: int
) -> Reals:
    """Return the shape of each release, given the expected counts of all its cells; one of ``SHAPES``."""
    low, high = round_away(float(releases.min())), round_away(float(releases.max()))
    lumps = () if law.whole else tuple(np.unique(releases[releases == np.floor(releases)]).tolist()[:64])
    key: Any = law
    likelihood = _tabulate(key, group_size, low, max(min(high, _MOST_OUTPUT), low + 1), lumps)
    found = [likelihood.shape(row, rates) for row, rates in zip(releases, expected, strict=True)]
    return SHAPES[np.abs(np.log(found)[:, None] - np.log(SHAPES)).argmin(axis=1)]


@lru_cache(maxsize=8)  # a distribution is a value
def _tabulate(
    law: Any, group_size: int, low: int, high: int, lumps: tuple[float, ...]
) -> DispersionLikelihood:
    outputs, _ = tabled_outputs(law, low, high, lumps, _MOST_OUTPUT)
    most = max(high / 2, 1.0)
    means = np.exp(log(_LEAST) + _STEP * np.arange(ceil((log(most) - log(_LEAST)) / _STEP) + 1))
    distances = np.arange(0.0, 4096.0)
    likely = law.log_law(np.full(distances.size, float(high)), high + distances)
    reach = int(np.sum(likely > likely.max() - _TAIL))
    counts = np.arange(min(high + reach, group_size) + 1, dtype=np.float64)
    log_law = law.log_law(outputs[None, :], counts[:, None])
    possible = np.isfinite(log_law).any(axis=0)
    chances = np.exp(log_law[:, possible])
    masses = (np.exp(_log_masses(shape, means, counts)) for shape in SHAPES)
    table = [np.log(np.maximum(some @ chances, _RARE)).ravel() for some in masses]
    return DispersionLikelihood(outputs[possible], np.array(table), float(most))


def _log_masses(shape: float, means: Reals, counts: Reals) -> Reals:
    """Return log probabilities of negative binomial counts: means x counts."""
    column = means[:, None]
    ways = gammaln(counts + shape) - gammaln(shape) - gammaln(counts + 1)
    return np.asarray(
        ways + shape * np.log(shape / (shape + column)) + counts * np.log(column / (shape + column))
    )
