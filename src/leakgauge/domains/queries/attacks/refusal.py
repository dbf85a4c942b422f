"""Query the target until the service refuses, and use only the time of the first refusal."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.release import QueriesView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the query into ``queries`` queries; answer "member" where one of them is refused.

    (Huang et al., theorem 4.) An accountant that charges only existing records charges the target for every
    query if it is present, and every known record once. With queries x epsilon above the budget it therefore
    refuses only if the target is present. Accountants that charge predicates, or every answer, refuse at the
    same time in both worlds, so that refusals reveal nothing.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 100
    by: query_splitting.SelectBy = query_splitting.SelectBy.IDS

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries, 2)

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        query_splitting.require_enough_records(knowledge, self.queries)
        questions = query_splitting.TargetQuestions.about_all(knowledge, self.queries, self.by)
        return Scorer(
            query_splitting.AskAndScore(questions, refusal_scores), Reading(threshold=0.0, signed=True)
        )


def refusal_scores(samples: Reals) -> Reals:
    """Return the share of queries left at the first refusal; -1 without a refusal.

    Zero where the first query was refused: no record was charged before it, so no record can have caused it.

    >>> refusal_scores(np.array([[[7.0, np.nan]], [[np.nan, np.nan]], [[0.0, 0.0]]])).ravel().tolist()
    [0.5, 0.0, -1.0]
    """
    refused = np.isnan(samples)
    answered = np.where(refused.any(axis=2), refused.argmax(axis=2), -1)
    n = samples.shape[2]
    return np.select([answered < 0, answered == 0], [-1.0, 0.0], default=(n - answered) / n)
