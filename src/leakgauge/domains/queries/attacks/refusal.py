"""Use only refusals: of a spent budget, or of a count that is too small without the target."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import OracleKnowledge
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.target_questions import SelectBy, split_questions, threshold_questions


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the query into ``queries`` queries; answer "member" where one of them is refused.

    (Huang et al., theorem 4.) An accountant that charges only existing records charges the target for every
    query if it is present, and every known record once. With queries x epsilon above the budget it therefore
    refuses only if the target is present. Accountants that charge predicates, or every answer, refuse at the
    same time in both worlds, so that refusals reveal nothing.

    A service that refuses counts below ``at_least`` by the true number of records is asked one question only,
    about the target and one known person fewer than it requires: it answers if the target is present.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known", "attributes")

    queries: int = 100
    by: SelectBy | None = None

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries, 2)

    def study(self, knowledge: OracleKnowledge, rng: Generator) -> Scorer[QueriesView]:
        if knowledge.refuses_by_true_count:
            asked, decide = threshold_questions(knowledge, self.by), threshold_scores
        else:
            asked = split_questions(knowledge, self.queries, self.by, own_people=True)
            decide = refusal_scores
        return Scorer(
            query_splitting.AskAndScore(asked.questions, decide),
            Reading(threshold=0.0, signed=True, event=asked.event, studied=asked.studied),
        )


def threshold_scores(samples: Reals) -> Reals:
    """Return 1 where the question about the smallest count is answered, and -1 where it is refused.

    >>> threshold_scores(np.array([[[0.3]], [[np.nan]]])).ravel().tolist()
    [1.0, -1.0]
    """
    return np.where(np.isnan(samples[:, :, 0]), -1.0, 1.0)


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
