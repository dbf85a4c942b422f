"""Query splitting (Huang et al.): one question asked many times, with the target and other known people.

Scores come from the answers about a target: t-test, midpoint and likelihood ratio.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.oracle import Oracle
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.release import QueriesView
from leakgauge.strategies.likelihood_ratio import LogLikelihoodRatio
from leakgauge.theory.query_splitting import TTestForm

ScoreAnswers: TypeAlias = Callable[[Reals], Reals]  # samples -> rounds x targets

_SMALLEST_P_VALUE = 1e-300
MOST_QUERIES = 100_000  # about each target


@dataclass(frozen=True, kw_only=True)
class TTest:
    """Tests whether samples along the last axis have mean zero (Student 1908); NaN marks missing ones.

    The "textbook" form divides by m - 1 in S; the "paper" form of Huang et al. divides by m but keeps sqrt(m)
    and m - 1 degrees of freedom, so that it rejects normal samples too often. With one side, only means above
    zero are evidence.
    """

    form: TTestForm = "textbook"
    sides: int = 2

    def __post_init__(self) -> None:
        if self.form not in ("textbook", "paper"):
            raise BadInput(f"form must be textbook or paper, got {self.form!r}")
        if self.sides not in (1, 2):
            raise BadInput(f"sides must be 1 or 2, got {self.sides}")

    def statistics(self, samples: Reals) -> tuple[Reals, Reals]:
        """Return T and its degrees of freedom; T is NaN where fewer than two samples are left.

        Where all samples are equal T is infinite, or zero if they are zero.
        """
        present = ~np.isnan(samples)
        n = present.sum(axis=-1)
        filled = np.where(present, samples, 0.0)
        means = filled.sum(axis=-1) / np.maximum(n, 1)
        squares = (np.where(present, samples - means[..., None], 0.0) ** 2).sum(axis=-1)
        divisor = n if self.form == "paper" else n - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            t = means * np.sqrt(n) / np.sqrt(squares / divisor)
        t = np.where((squares == 0) & (means == 0), 0.0, t)
        return np.where(n < 2, np.nan, t), (n - 1).astype(np.float64)

    def p_values(self, samples: Reals) -> Reals:
        """Return the p values; NaN where fewer than two samples are left.

        >>> TTest().p_values(np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]])).round(4).tolist()
        [0.0742, 1.0]
        """
        t, freedom = self.statistics(samples)
        above = scipy.special.stdtr(np.maximum(freedom, 1.0), -np.abs(t) if self.sides == 2 else -t)
        return np.asarray(self.sides * above)


@dataclass(frozen=True, eq=False)
class TTestScore:
    """log(level / p) of the test of mean zero (Huang et al.).

    The score is zero with fewer than two answers, which have no p value.
    """

    test: TTest
    level: float
    shifts: Reals  # of the targets, or x queries; they give the side of one-sided tests

    def __call__(self, samples: Reals) -> Reals:
        p = self.test.p_values(samples * np.sign(_by_query(self.shifts)))
        scores = np.log(self.level) - np.log(np.maximum(p, _SMALLEST_P_VALUE))
        return np.where(np.isnan(p), 0.0, scores)


@dataclass(frozen=True, eq=False)
class MidpointScore:
    """Distance of the mean from half of the target's contribution, times the number of answers.

    In log odds under normal noise of standard deviation ``unit``, so that targets can be compared.
    """

    shifts: Reals  # of the targets, or x queries
    unit: float

    def __call__(self, samples: Reals) -> Reals:
        shifts = _by_query(self.shifts)
        beyond = (samples - shifts / 2) * shifts
        return np.where(np.isnan(samples), 0.0, beyond).sum(axis=2) / self.unit**2


def _by_query(shifts: Reals) -> Reals:
    return shifts if shifts.ndim == 2 else shifts[:, None]


@dataclass(frozen=True, eq=False)
class LikelihoodScore:
    """The log-likelihood ratio, summed over the answers: the optimal test (Neyman and Pearson 1933).

    Under Laplace noise it is the sum of the answers clipped to the interval between the two true values.
    """

    log_law: Callable[[Reals, Reals], Reals]  # log density of an answer given its true value
    shifts: Reals

    def __call__(self, samples: Reals) -> Reals:
        scores = np.empty(samples.shape[:2])
        for target, shift in enumerate(self.shifts):
            ratio = LogLikelihoodRatio(self.log_law, np.zeros(()), np.asarray(shift))
            answers = samples[:, target].T
            ratios = ratio(np.nan_to_num(answers).ravel()).reshape(answers.shape)
            scores[:, target] = np.where(np.isnan(answers), 0.0, ratios).sum(axis=0)
        return scores


@dataclass(frozen=True, eq=False)
class SplitQuery:
    """Queries about the target and disjoint sets of known records, and the contributions of the latter."""

    queries: tuple[Query, ...]
    known: Reals  # answer to each query without the target and without noise
    group: int | None = None  # of the target, where the answer has groups
    shifts: Reals | None = None  # what the target adds to each answer, where that differs between queries
    parts: tuple[Reals, Reals] | None = None  # of averages: sums and counts of the known records

    def ask(self, oracle: Oracle) -> Reals:
        """Return rounds x queries: the target's contribution plus noise; NaN where an answer is refused.

        Theorem 1 of Huang et al.: whatever the sets, they are independent, and but for averages alike.
        """
        return np.column_stack([self.ask_one(oracle, i) for i in range(len(self.queries))])

    def ask_one(self, oracle: Oracle, i: int) -> Reals:
        """Return for each round what query ``i`` says about the target."""
        answers = oracle.ask(self.queries[i])
        return (answers if self.group is None else answers[:, self.group]) - self.known[i]


@dataclass(frozen=True, eq=False)
class TargetQuestions:
    """Queries about each target; query i of every target precedes query i + 1 of any.

    If the budget runs out, it therefore does so for all targets alike. A target about whom nothing can be
    asked has no queries.
    """

    splits: tuple[SplitQuery, ...]  # one for each target

    def shifts(self, of_targets: Reals) -> Reals:
        """Return what each target adds to an answer: one number for all queries, or targets x queries."""
        if all(split.shifts is None for split in self.splits):
            return of_targets
        found = np.zeros((len(self.splits), max(len(split.queries) for split in self.splits)))
        for target, split in enumerate(self.splits):
            if split.shifts is not None:
                found[target, : split.shifts.size] = split.shifts
        return found

    def ask(self, oracle: Oracle) -> Reals:
        """Return rounds x targets x queries: contribution of a present target plus noise.

        NaN where a query is refused, or where there is none.
        """
        n = max(len(split.queries) for split in self.splits)
        samples = np.full((len(self.splits), n, oracle.n_rounds), np.nan)  # rounds of an answer: contiguous
        for i in range(n):
            for target, split in enumerate(self.splits):
                if i < len(split.queries):
                    samples[target, i] = split.ask_one(oracle, i)
        return samples.transpose(2, 0, 1)


@dataclass(frozen=True, eq=False)
class AskAndScore:
    """Scores a block: asks a fresh oracle, and computes scores from the answers.

    The score of a target about whom nothing can be asked is zero: no evidence.
    """

    questions: TargetQuestions
    decide: ScoreAnswers

    def __call__(self, view: QueriesView, rng: Generator) -> Reals:
        asked = [bool(split.queries) for split in self.questions.splits]
        return np.where(asked, self.decide(self.questions.ask(view.oracle())), 0.0)


def require_n_queries(n_queries: int, least: int = 1) -> None:
    """Refuse a number of queries that is out of range."""
    if not least <= n_queries <= MOST_QUERIES:
        raise BadInput(f"queries must be in {least}..{MOST_QUERIES}, got {n_queries}")
