"""Likelihood-ratio test on the answers: the optimal attack when the noise distribution is known."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import OracleKnowledge
from leakgauge.domains.queries.question_scores import likelihood_score
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.target_questions import SelectBy, split_questions


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the query into ``queries`` queries, and sum the log-likelihood ratios of the answers.

    (Neyman and Pearson 1933.) Exact for every known noise distribution, for counts and for sums. Under
    Laplace noise, each answer is clipped to the interval between its two true values.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known", "attributes")

    queries: int = 10
    by: SelectBy | None = None

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries)

    def study(self, knowledge: OracleKnowledge, rng: Generator) -> Scorer[QueriesView]:
        asked = split_questions(knowledge, self.queries, self.by)
        decide = likelihood_score(knowledge, asked.questions)
        return Scorer(
            query_splitting.AskAndScore(asked.questions, decide),
            Reading(threshold=0.0, signed=True, event=asked.event, studied=asked.studied),
        )
