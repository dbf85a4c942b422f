"""Test whether the answers about the target have mean zero: the t-test of Huang et al."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import OracleKnowledge
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.target_questions import SelectBy, split_questions
from leakgauge.theory.query_splitting import TTestForm


@dataclass(frozen=True, kw_only=True)
class TTestOptions:
    """Number of queries, how they select records, and the form, sides and level of the test."""

    queries: int = 10
    form: TTestForm = "textbook"
    sides: Literal[1, 2] = 2
    level: float = 0.05
    by: SelectBy | None = None

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries, 2)
        if not 0 < self.level < 1:
            raise BadInput(f"level must be in (0, 1), got {self.level}")
        self._test()  # checks form and sides

    def _test(self) -> query_splitting.TTest:
        return query_splitting.TTest(form=self.form, sides=self.sides)

    def t_test(
        self, knowledge: OracleKnowledge, questions: query_splitting.TargetQuestions
    ) -> query_splitting.TTestScore:
        """Return the score of the test."""
        return query_splitting.TTestScore(self._test(), self.level, questions.shifts(knowledge.shifts))


@dataclass(frozen=True, kw_only=True)
class Attack(TTestOptions):
    """Split the query into ``queries`` queries; answer "member" where a t-test rejects a mean of zero.

    (Huang et al., section 4.4.) ``form`` "paper" divides by m where the textbook divides by m - 1. For normal
    noise it rejects too often (7 % at m = 4 instead of 5 %); for Laplace noise it is close to the level, and
    the textbook form is below it (3.2 %). The paper tests two ``sides``, although a target changes answers
    in one direction only, which its record determines.
    The score is log(level / p): at or above zero the test rejects.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known", "attributes")

    def study(self, knowledge: OracleKnowledge, rng: Generator) -> Scorer[QueriesView]:
        asked = split_questions(knowledge, self.queries, self.by, least=2)
        return Scorer(
            query_splitting.AskAndScore(asked.questions, self.t_test(knowledge, asked.questions)),
            Reading(threshold=0.0, event=asked.event, studied=asked.studied),
        )
