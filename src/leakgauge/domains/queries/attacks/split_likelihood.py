"""Likelihood-ratio test on the answers: the optimal attack when the noise distribution is known."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.release import QueriesView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the query into ``queries`` queries, and sum the log-likelihood ratios of the answers.

    (Neyman and Pearson 1933.) Exact for every known noise distribution, for counts and for sums. Under
    Laplace noise, each answer is clipped to the interval between its two true values.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 10
    by: query_splitting.SelectBy = query_splitting.SelectBy.IDS

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries)

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        questions = query_splitting.TargetQuestions.about_all(knowledge, self.queries, self.by)
        decide = query_splitting.LikelihoodScore(knowledge.noise.log_law, knowledge.shifts)
        return Scorer(query_splitting.AskAndScore(questions, decide), Reading(threshold=0.0, signed=True))
