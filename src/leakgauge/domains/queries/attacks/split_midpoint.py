"""Test whether the mean answer is closer to the target's contribution than to zero."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.release import QueriesView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the query into ``queries`` queries; the threshold is midway between the two true means.

    Uses the target's value, which a t-test does not. Optimal under Gaussian noise.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 10
    by: query_splitting.SelectBy = query_splitting.SelectBy.IDS

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries)

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        questions = query_splitting.TargetQuestions.about_all(knowledge, self.queries, self.by)
        decide = query_splitting.MidpointScore(knowledge.shifts, knowledge.query.sensitivity)
        return Scorer(query_splitting.AskAndScore(questions, decide), Reading(threshold=0.0, signed=True))
