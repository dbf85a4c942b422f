"""From answers about a target to a score: rules that never take a refusal for evidence.

Samples are rounds x targets x questions, of what the target adds, if it is in, and noise. A rule uses the
answers there are; a score of zero stands for no evidence, as where all were refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.likelihood import LogRatio
from leakgauge.strategies.t_test import TTest

Decide: TypeAlias = Callable[[Reals], Reals]  # samples -> rounds x targets

_RAREST = 1e-300  # of p values


@dataclass(frozen=True, eq=False)
class ByTTest:
    """How far the p value of "the mean is zero" lies below the level, in logarithms (Huang et al.).

    Fewer than two answers have no p value: zero.
    """

    test: TTest
    level: float
    shifts: Reals  # of the targets; one-sided tests look to their side

    def __call__(self, samples: Reals) -> Reals:
        p = self.test.p_values(samples * np.sign(self.shifts)[:, None])
        scores = np.log(self.level) - np.log(np.maximum(p, _RAREST))
        return np.where(np.isnan(p), 0.0, scores)


@dataclass(frozen=True, eq=False)
class ByMidpoint:
    """How far the mean lies beyond half of what the target would add, times the number of answers.

    In units of log odds under normal noise as wide as the ``unit``, so that targets can be compared.
    """

    shifts: Reals
    unit: float

    def __call__(self, samples: Reals) -> Reals:
        beyond = samples - self.shifts[:, None] / 2
        return np.where(np.isnan(samples), 0.0, beyond).sum(axis=2) * self.shifts / self.unit**2


@dataclass(frozen=True, eq=False)
class ByLikelihood:
    """The log-likelihood ratio, added up over the answers (Neyman and Pearson 1933): the best there is.

    Under Laplace noise that is the sum of answers clipped to what lies between the two worlds.
    """

    log_law: Callable[[Reals, Reals], Reals]  # of one answer given its true value
    shifts: Reals

    def __call__(self, samples: Reals) -> Reals:
        scores = np.empty(samples.shape[:2])
        for target, shift in enumerate(self.shifts):
            ratio = LogRatio(self.log_law, np.zeros(()), np.asarray(shift))
            answers = samples[:, target].T
            ratios = ratio(np.nan_to_num(answers).ravel()).reshape(answers.shape)
            scores[:, target] = np.where(np.isnan(answers), 0.0, ratios).sum(axis=0)
        return scores
