"""How much counts vary beyond the popularities of place and epoch, estimated from one release.

The count of a cell is Poisson with a rate that has a gamma distribution, so that it is negative binomial
(Greenwood and Yule 1920). The shape of the gamma distribution is the same for all cells; it maximises the
likelihood of the published counts under the noise distribution of the release.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log
from typing import Any

import numpy as np
from scipy.special import gammaln

from leakgauge.core.game import Reals
from leakgauge.domains.locations.counts.count_priors import log_mix
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.mobility.rate_likelihood import round_away, tabled_outputs

SHAPES = np.append(np.exp(0.25 * np.arange(-8, 21)), np.inf)  # from 0.14 to 148, and no dispersion
_USUAL, _SPREAD = 2.0, 2.0  # mean and standard deviation of the log of a shape, before any release
_STEP = 0.1  # of the logs of expected counts
_LEAST = 1e-5  # expected count
_MOST_OUTPUT = 256  # larger outputs are left out
_TAIL = 25.0  # counts with noise less likely than e^-25 are left out


@dataclass(frozen=True, eq=False)
class DispersionLikelihood:
    """Log-likelihoods of shapes, by expected count and output."""

    outputs: Reals  # rising
    table: Reals  # shapes x (expected counts x outputs)
    most: float  # largest expected count

    def likeliest(self, released: Reals, expected: Reals) -> float:
        """Return the shape of the largest posterior density, given outputs and expected counts of cells."""
        used = expected <= self.most
        rows = np.round((np.log(np.maximum(expected[used], _LEAST)) - log(_LEAST)) / _STEP).astype(np.intp)
        middles = (self.outputs[1:] + self.outputs[:-1]) / 2
        pairs = rows * self.outputs.size + np.searchsorted(middles, released[used])
        merit = self.table @ np.bincount(pairs, minlength=self.table.shape[1])
        finite = np.isfinite(SHAPES)
        offsets = np.where(finite, np.log(np.where(finite, SHAPES, 1.0)), log(SHAPES[finite][-1])) - _USUAL
        return float(SHAPES[np.argmax(merit - (offsets / _SPREAD) ** 2 / 2)])


def likeliest_shapes(
    releases: Reals, expected: Iterable[Reals], law: ReleaseDistribution, group_size: int
) -> Reals:
    """Return the shape of each release, given the expected counts of all its cells."""
    low, high = round_away(float(releases.min())), round_away(float(releases.max()))
    lumps = () if law.whole else tuple(np.unique(releases[releases == np.floor(releases)]).tolist()[:64])
    key: Any = law
    likelihood = _tabulate(key, group_size, low, max(min(high, _MOST_OUTPUT), low + 1), lumps)
    return np.array([likelihood.likeliest(row, rates) for row, rates in zip(releases, expected, strict=True)])


@lru_cache(maxsize=8)  # a distribution is a value
def _tabulate(
    law: Any, group_size: int, low: int, high: int, lumps: tuple[float, ...]
) -> DispersionLikelihood:
    outputs, _ = tabled_outputs(law, low, high, lumps, _MOST_OUTPUT)
    most = max(high / 2, 1.0)
    means = np.exp(log(_LEAST) + _STEP * np.arange(ceil((log(most) - log(_LEAST)) / _STEP) + 1))
    distances = np.arange(0.0, 4096.0)
    likely = law.log_law(np.full(distances.size, float(high)), high + distances)
    reach = int(np.sum(likely > likely.max() - _TAIL)) if np.isfinite(likely.max()) else 0
    counts = np.arange(min(high + reach, group_size) + 1, dtype=np.float64)
    log_law = law.log_law(outputs[None, :], counts[:, None])
    possible = np.isfinite(log_law).any(axis=0)
    table = [log_mix(_log_masses(shape, means, counts), log_law[:, possible]).ravel() for shape in SHAPES]
    return DispersionLikelihood(outputs[possible], np.array(table), float(most))


def _log_masses(shape: float, means: Reals, counts: Reals) -> Reals:
    """Return log probabilities of negative binomial counts, Poisson for an infinite shape: means x counts."""
    column = means[:, None]
    if shape == np.inf:
        return np.asarray(counts * np.log(column) - column - gammaln(counts + 1))
    ways = gammaln(counts + shape) - gammaln(shape) - gammaln(counts + 1)
    return np.asarray(
        ways + shape * np.log(shape / (shape + column)) + counts * np.log(column / (shape + column))
    )
