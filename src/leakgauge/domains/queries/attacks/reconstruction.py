"""Linear reconstruction: the membership of all targets at once, from answers about random sets of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.oracle import ROUNDING
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.subset_questions import SubsetQuestions, subset_questions
from leakgauge.domains.queries.target_questions import SelectBy
from leakgauge.mechanisms import opendp
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.theory.linear_reconstruction import least_absolute, least_squares

EXPECTED, ALLOWED = "least_squares_expected", "recovery_allowed"
_OF_A_COIN = 0.25  # the variance of a bit
_MOST_CASES = 200  # targets that differ in value and number of answers, for which the best attack is computed


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Ask ``queries`` questions about random sets of targets, and solve for the membership of all of them.

    (Dinur and Nissim 2003.) Least squares gives the log odds of each target under normal noise; it weighs the
    noise against the variance of a fair coin, so that few questions do no harm. The linear program minimises
    the sum of absolute residuals over numbers from 0 to 1, which under Laplace noise is the maximum
    likelihood; its score is the solution minus one half.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 100
    method: Literal["least_squares", "linear_program"] = "least_squares"
    by: SelectBy | None = None

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries)
        if self.method not in ("least_squares", "linear_program"):
            raise BadInput(f"method must be least_squares or linear_program, got {self.method!r}")
        if self.by is SelectBy.ATTRIBUTES:
            raise BadInput("by = 'attributes': reconstruction names records by ids; leave by out")

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        questions = subset_questions(knowledge, self.queries, self.by, rng)
        deviation = noise_deviation(knowledge)
        solve = LeastSquaresScore(deviation) if self.method == "least_squares" else linear_program_scores
        return Scorer(
            AskAndSolve(questions, solve),
            Reading(
                threshold=0.0,
                signed=True,
                event=questions.described,
                studied=_expected(knowledge, questions, deviation),
            ),
        )


@dataclass(frozen=True, eq=False)
class AskAndSolve:
    """Scores a block: asks a fresh oracle, and solves for all targets from what was answered."""

    questions: SubsetQuestions
    solve: Callable[[Reals, Reals], Reals]  # design, rounds x answers -> rounds x targets

    def __call__(self, view: QueriesView, rng: Generator) -> Reals:
        answers = self.questions.ask(view.oracle())
        scores = np.zeros((len(answers), self.questions.design.shape[1]))
        for rounds, answered in _same_refusals(np.isnan(answers)):
            if answered.any():
                given = answers[np.ix_(rounds, answered)]
                scores[rounds] = self.solve(self.questions.design[answered], given)
        return scores


def _same_refusals(refused: Bits) -> Iterator[tuple[Bits, Bits]]:
    """Yield the rounds in which the same questions were answered, and those questions."""
    patterns, pattern_of = np.unique(refused, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        yield pattern_of.reshape(-1) == i, ~pattern


@dataclass(frozen=True)
class LeastSquaresScore:
    """The log odds of each target by least squares, for noise of a known standard deviation."""

    deviation: float

    def __call__(self, design: Reals, answers: Reals) -> Reals:
        solved = least_squares(design, self.deviation, prior_variance=_OF_A_COIN)
        estimates = (answers - design.sum(axis=1) / 2) @ solved.weights.T
        return np.asarray(estimates * solved.log_odds_factors)


def linear_program_scores(design: Reals, answers: Reals) -> Reals:
    """Return for each round the numbers from 0 to 1 with the least absolute residuals, minus one half.

    A target that no answer is about gets zero.
    """
    scores = np.array([least_absolute(design, row) - 0.5 for row in answers])
    return np.where((design != 0).any(axis=0), scores, 0.0)


def noise_deviation(knowledge: KnownRecords) -> float:
    """Return the standard deviation of the noise of an answer, before any rounding or clamping."""
    return float(np.sqrt(2 * _additive(knowledge).partial_moments(np.zeros(1))[2][0]))  # by symmetry


def _additive(knowledge: KnownRecords) -> AdditiveNoise:
    return knowledge.noise.law if isinstance(knowledge.noise, opendp.Mechanism) else knowledge.noise


def _expected(knowledge: KnownRecords, questions: SubsetQuestions, deviation: float) -> dict[str, float]:
    """Return what least squares is expected to recover, and what the answers allow any attacker.

    Nothing where it depends on the data which questions are answered.
    """
    n_answered = _n_answered(knowledge, len(questions.queries))
    if n_answered is None:
        return {}
    design = questions.design[:n_answered]
    found = {EXPECTED: float(least_squares(design, deviation, prior_variance=_OF_A_COIN).recovery.mean())}
    allowed = _allowed(_additive(knowledge), np.abs(knowledge.shifts), np.count_nonzero(design, axis=0))
    return found if allowed is None else found | {ALLOWED: allowed}


def _allowed(noise: AdditiveNoise, shifts: Reals, n_answers: Ints) -> float | None:
    """Return the mean accuracy of the best attack on each target alone, all others known; None if unknown."""
    cases, n_targets = np.unique(np.column_stack([shifts, n_answers]), axis=0, return_counts=True)
    if len(cases) > _MOST_CASES:
        return None
    accuracies = []
    for shift, n in cases.tolist():
        best = noise.best_attack([(shift, int(n))]) if n else None
        if n and best is None:
            return None
        accuracies.append(0.5 if best is None else best.accuracy[1])
    return float(np.average(accuracies, weights=n_targets))


def _n_answered(knowledge: KnownRecords, n_queries: int) -> int | None:
    """Return how many questions, from the first one on, the budget pays for; None where it depends."""
    if knowledge.budget is None or knowledge.accountant == "none":
        return n_queries
    paid = int(knowledge.budget / knowledge.epsilon * (1 + ROUNDING))
    if paid >= n_queries or knowledge.accountant == "sequential":
        return min(paid, n_queries)
    return None
