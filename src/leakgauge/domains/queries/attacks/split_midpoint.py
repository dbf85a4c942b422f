"""Ask whether the mean of the answers about the target is nearer to its value than to zero."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries.answer_scores import MidpointScore
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.query_splitting import (
    AskAndScore,
    SelectBy,
    TargetQuestions,
    require_n_queries,
)
from leakgauge.domains.queries.release import QueriesView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the question into ``queries``, and cut the mean answer midway between the two worlds.

    For who knows the target's value, which a t-test does not use; the best there is under Gaussian noise.
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
