"""Test whether the mean answer is closer to the target's contribution than to zero."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.query_splitting import (
    AskAndScore,
    MidpointScore,
    SelectBy,
    TargetQuestions,
    require_n_queries,
)
from leakgauge.domains.queries.release import QueriesView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the query into ``queries`` queries; the threshold is midway between the two true means.

    Uses the target's value, which a t-test does not. Optimal under Gaussian noise.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 10
    by: SelectBy = SelectBy.IDS

    def __post_init__(self) -> None:
        require_n_queries(self.queries)

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        questions = TargetQuestions.about_all(knowledge, self.queries, self.by)
        decide = MidpointScore(knowledge.shifts, knowledge.query.sensitivity)
        return Scorer(AskAndScore(questions, decide), Reading(threshold=0.0, signed=True))
