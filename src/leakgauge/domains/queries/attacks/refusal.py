"""Ask about the target until the oracle refuses, and read the moment of refusal alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.query_splitting import (
    AskAndScore,
    SelectBy,
    TargetQuestions,
    require_enough_records,
    require_n_queries,
)
from leakgauge.domains.queries.release import QueriesView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the question into ``queries``, and say "member" where one of them is refused.

    (Huang et al., theorem 4.) An accountant that charges only records that exist charges the target for every
    question if it is in, and every known record once: with queries x epsilon above the budget it refuses
    members alone. One that looks at predicates, or charges everything, refuses in both worlds at the same
    moment, and nothing is learned.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 100
    by: SelectBy = SelectBy.IDS

    def __post_init__(self) -> None:
        require_n_queries(self.queries, 2)

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        require_enough_records(knowledge, self.queries)
        questions = TargetQuestions.about_all(knowledge, self.queries, self.by)
        return Scorer(AskAndScore(questions, refusal_scores), Reading(threshold=0.0, signed=True))


def refusal_scores(samples: Reals) -> Reals:
    """The share of questions that were left at the first refusal; -1 without any.

    Zero where the first question was refused: before it nobody was charged, so no record can have caused it.

    >>> refusal_scores(np.array([[[7.0, np.nan]], [[np.nan, np.nan]], [[0.0, 0.0]]])).ravel().tolist()
    [0.5, 0.0, -1.0]
    """
    refused = np.isnan(samples)
    answered = np.where(refused.any(axis=2), refused.argmax(axis=2), -1)
    n = samples.shape[2]
    return np.select([answered < 0, answered == 0], [-1.0, 0.0], default=(n - answered) / n)
