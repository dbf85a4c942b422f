"""Test whether the mean answer is closer to the target's contribution than to zero."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import OracleKnowledge
from leakgauge.domains.queries.question_scores import midpoint_score
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.target_questions import SelectBy, split_questions


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the query into ``queries`` queries; the threshold is midway between the two true means.

    Uses the target's value, which a t-test does not. Optimal under Gaussian noise.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known", "attributes")

    queries: int = 10
    by: SelectBy | None = None

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries)

    def study(self, knowledge: OracleKnowledge, rng: Generator) -> Scorer[QueriesView]:
        asked = split_questions(knowledge, self.queries, self.by)
        decide = midpoint_score(knowledge, asked.questions)
        return Scorer(
            query_splitting.AskAndScore(asked.questions, decide),
            Reading(threshold=0.0, signed=True, event=asked.event, studied=asked.studied),
        )
