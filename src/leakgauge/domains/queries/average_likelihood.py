"""The likelihood of noisy averages: a noisy sum over a noisy count of at least one."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.domains.queries.oracle import OracleNoise
from leakgauge.domains.queries.query_splitting import TargetQuestions
from leakgauge.mechanisms import opendp

_SCALES, _NODES = 20.0, 601  # of the noise of the count: the range, and the points of the integral
CDF_ERROR = 2e-3  # largest seen: 0.00125


@dataclass(frozen=True, eq=False)
class AverageNoise:
    """The distribution of a noisy sum divided by a noisy count, which is at least one.

    The density is an integral over the noise of the count, by the trapezoidal rule.
    """

    sum_noise: OracleNoise
    count_noise: OracleNoise

    def log_density(self, averages: Reals, total: float, count: float) -> Reals:
        """Return the log density of some averages of known records, given their true sum and count."""
        scale = self.count_noise.noise_scale
        distances = np.linspace(-_SCALES, _SCALES, _NODES) * scale
        step = distances[1] - distances[0]
        weights = np.exp(self.count_noise.log_law(distances, np.zeros_like(distances))) * step
        divisors = np.maximum(count + distances, 1.0)
        sums = averages[:, None] * divisors
        densities = np.exp(self.sum_noise.log_law(sums, np.full_like(sums, total)))
        found = densities @ (weights * divisors)
        return np.log(np.maximum(found, np.finfo(float).tiny))

    def cdf(self, averages: Reals, total: float, count: float) -> Reals:
        """Return the probability of at most some averages, within ``CDF_ERROR``."""
        assert not isinstance(self.sum_noise, opendp.Mechanism)  # which averages do not take
        assert not isinstance(self.count_noise, opendp.Mechanism)
        ends = (np.arange(_NODES + 1) / _NODES * 2 - 1) * _SCALES * self.count_noise.noise_scale
        below = np.exp(self.count_noise.log_sf(-ends))  # the noise is symmetric
        below[[0, -1]] = 0.0, 1.0
        divisors = np.maximum(count + (ends[:-1] + ends[1:]) / 2, 1.0)
        excess = averages[:, None] * divisors - total
        return np.asarray(np.exp(self.sum_noise.log_sf(-excess)) @ np.diff(below))


@dataclass(frozen=True, eq=False)
class AverageLikelihoodScore:
    """The log-likelihood ratio of averages, summed over the answers."""

    questions: TargetQuestions
    noise: AverageNoise
    shifts: Reals  # of the targets: what they add to a sum
    counts: Reals  # of the targets: what they add to a count

    def __call__(self, samples: Reals) -> Reals:
        scores = np.zeros(samples.shape[:2])
        for target, split in enumerate(self.questions.splits):
            if split.parts is None:
                continue
            for i, (total, count) in enumerate(zip(*split.parts)):
                given = ~np.isnan(samples[:, target, i])
                averages = samples[given, target, i] + split.known[i]
                present = self.noise.log_density(
                    averages, total + self.shifts[target], count + self.counts[target]
                )
                scores[given, target] += present - self.noise.log_density(averages, total, count)
        return scores
