"""Use refusals where they reveal membership, and the answers elsewhere: the attacker of Huang et al."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.attacks.refusal import refusal_scores, threshold_scores
from leakgauge.domains.queries.attacks.split_t_test import TTestOptions
from leakgauge.domains.queries.knowledge import OracleKnowledge
from leakgauge.domains.queries.question_scores import likelihood_score, midpoint_score
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.target_questions import split_questions, threshold_questions

_CERTAIN_SCORE = 1e6  # larger than any score of answers
_ROUNDING = 1 + 1e-8  # tolerance for rounded sums of epsilons


@dataclass(frozen=True, kw_only=True)
class Attack(TTestOptions):
    """Split the query into ``queries`` queries; a refusal or its absence decides if only members are refused.

    (Huang et al., section 4.5.) Under an accountant that charges only existing records: a refusal after an
    answer means member (case 4); no refusal although queries x epsilon exceeds the budget means non-member
    (case 3). With fewer queries (cases 1 and 2), or under any other accountant, the ``test`` decides from the
    answers. The paper uses the t-test in case 3, which accuses a share ``level`` of the non-members however
    many answers there are. Where small counts are refused by the true number of records, the attack is that
    of ``refusal``.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known", "attributes")

    test: Literal["t_test", "midpoint", "likelihood"] = "t_test"

    def study(self, knowledge: OracleKnowledge, rng: Generator) -> Scorer[QueriesView]:
        decide: query_splitting.ScoreAnswers
        if knowledge.refuses_by_true_count:
            asked, decide = threshold_questions(knowledge, self.by), threshold_scores
        elif knowledge.accountant == "per_row" and knowledge.budget is not None:
            asked = split_questions(knowledge, self.queries, self.by, own_people=True)
            enough = self.queries * knowledge.epsilon > knowledge.budget * _ROUNDING
            decide = _Cases(self._decide(knowledge, asked.questions), enough)
        else:
            asked = split_questions(knowledge, self.queries, self.by, least=2 if self.test == "t_test" else 1)
            decide = self._decide(knowledge, asked.questions)
        return Scorer(
            query_splitting.AskAndScore(asked.questions, decide),
            Reading(threshold=0.0, signed=self.test != "t_test", event=asked.event, studied=asked.studied),
        )

    def _decide(
        self, knowledge: OracleKnowledge, questions: query_splitting.TargetQuestions
    ) -> query_splitting.ScoreAnswers:
        match self.test:
            case "t_test":
                return self.t_test(knowledge, questions)
            case "midpoint":
                return midpoint_score(knowledge, questions)
            case "likelihood":
                return likelihood_score(knowledge, questions)
            case _:
                raise BadInput(f"no test is called {self.test!r}; known: t_test, midpoint, likelihood")


@dataclass(frozen=True, eq=False)
class _Cases:
    """The four cases: refused or not, with or without enough queries to exceed the budget."""

    test: query_splitting.ScoreAnswers
    enough: bool

    def __call__(self, samples: Reals) -> Reals:
        refusals = refusal_scores(samples)
        decided = (refusals > 0) | ((refusals < 0) & self.enough)
        return np.where(decided, _CERTAIN_SCORE * np.sign(refusals), self.test(samples))
