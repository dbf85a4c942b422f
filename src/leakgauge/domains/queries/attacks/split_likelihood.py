"""Likelihood-ratio test on the answers: the optimal attack when the noise distribution is known."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.query_splitting import (
    AskAndScore,
    LikelihoodScore,
    SelectBy,
    TargetQuestions,
    require_n_queries,
)
from leakgauge.domains.queries.release import QueriesView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the query into ``queries`` queries, and sum the log-likelihood ratios of the answers.

    (Neyman and Pearson 1933.) Exact for every known noise distribution, for counts and for sums. Under
    Laplace noise, each answer is clipped to the interval between its two true values.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 10
    by: SelectBy = SelectBy.IDS

    def __post_init__(self) -> None:
        require_n_queries(self.queries)

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        questions = TargetQuestions.about_all(knowledge, self.queries, self.by)
        decide = LikelihoodScore(knowledge.noise.log_law, knowledge.shifts)
        return Scorer(AskAndScore(questions, decide), Reading(threshold=0.0, signed=True))
