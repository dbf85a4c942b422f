"""Scores from the answers about a target: t-test, midpoint and likelihood ratio; refusals are no evidence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import stdtr

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.strategies.likelihood_ratio import LogLikelihoodRatio
from leakgauge.theory.t_test_power import TTestForm


@dataclass(frozen=True, kw_only=True)
class TTest:
    """Whether samples along the last axis have mean zero (Student 1908); NaN marks what is missing.

    In "textbook" form S has 1/(m - 1); in the "paper" form of Huang et al. it has 1/m, with sqrt(m) and m - 1
    degrees of freedom all the same, so that normal samples are rejected too often. With one side, only means
    above zero count against it.
    """

    form: TTestForm = "textbook"
    sides: int = 2

    def __post_init__(self) -> None:
        if self.form not in ("textbook", "paper"):
            raise BadInput(f"form must be textbook or paper, got {self.form!r}")
        if self.sides not in (1, 2):
            raise BadInput(f"sides must be 1 or 2, got {self.sides}")

    def statistics(self, samples: Reals) -> tuple[Reals, Reals]:
        """T of each sample, and its degrees of freedom; NaN and less than one where fewer than two are left.

        Where all are equal T is infinite, or zero if they are zero.
        """
        there = ~np.isnan(samples)
        n = there.sum(axis=-1)
        filled = np.where(there, samples, 0.0)
        means = filled.sum(axis=-1) / np.maximum(n, 1)
        squares = (np.where(there, samples - means[..., None], 0.0) ** 2).sum(axis=-1)
        divisor = n if self.form == "paper" else n - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            t = means * np.sqrt(n) / np.sqrt(squares / divisor)
        t = np.where((squares == 0) & (means == 0), 0.0, t)
        return np.where(n < 2, np.nan, t), (n - 1).astype(np.float64)

    def p_values(self, samples: Reals) -> Reals:
        """How rare so large a T is if the mean is zero; NaN where fewer than two samples are left.

        >>> TTest().p_values(np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]])).round(4).tolist()
        [0.0742, 1.0]
        """
        t, freedom = self.statistics(samples)
        above = stdtr(np.maximum(freedom, 1.0), -np.abs(t) if self.sides == 2 else -t)
        return np.asarray(self.sides * above)


# From answers about a target to a score: rules that never take a refusal for evidence.
#
# Samples are rounds x targets x questions, of what the target adds, if it is in, and noise. A rule uses the
# answers there are; a score of zero stands for no evidence, as where all were refused.


ScoreAnswers: TypeAlias = Callable[[Reals], Reals]  # samples -> rounds x targets

_SMALLEST_P_VALUE = 1e-300  # of p values


@dataclass(frozen=True, eq=False)
class TTestScore:
    """How far the p value of "the mean is zero" lies below the level, in logarithms (Huang et al.).

    Fewer than two answers have no p value: zero.
    """

    test: TTest
    level: float
    shifts: Reals  # of the targets; one-sided tests look to their side

    def __call__(self, samples: Reals) -> Reals:
        p = self.test.p_values(samples * np.sign(self.shifts)[:, None])
        scores = np.log(self.level) - np.log(np.maximum(p, _SMALLEST_P_VALUE))
        return np.where(np.isnan(p), 0.0, scores)


@dataclass(frozen=True, eq=False)
class MidpointScore:
    """How far the mean lies beyond half of what the target would add, times the number of answers.

    In units of log odds under normal noise as wide as the ``unit``, so that targets can be compared.
    """

    shifts: Reals
    unit: float

    def __call__(self, samples: Reals) -> Reals:
        beyond = samples - self.shifts[:, None] / 2
        return np.where(np.isnan(samples), 0.0, beyond).sum(axis=2) * self.shifts / self.unit**2


@dataclass(frozen=True, eq=False)
class LikelihoodScore:
    """The log-likelihood ratio, added up over the answers (Neyman and Pearson 1933): the best there is.

    Under Laplace noise that is the sum of answers clipped to what lies between the two worlds.
    """

    log_law: Callable[[Reals, Reals], Reals]  # of one answer given its true value
    shifts: Reals

    def __call__(self, samples: Reals) -> Reals:
        scores = np.empty(samples.shape[:2])
        for target, shift in enumerate(self.shifts):
            ratio = LogLikelihoodRatio(self.log_law, np.zeros(()), np.asarray(shift))
            answers = samples[:, target].T
            ratios = ratio(np.nan_to_num(answers).ravel()).reshape(answers.shape)
            scores[:, target] = np.where(np.isnan(answers), 0.0, ratios).sum(axis=0)
        return scores
