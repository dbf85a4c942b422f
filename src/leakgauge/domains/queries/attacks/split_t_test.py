"""Ask whether the answers about the target have mean zero: the t-test of Huang et al."""

from dataclasses import dataclass

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries.asking import AskAndDecide, Questions, require_queries
from leakgauge.domains.queries.deciding import ByTTest
from leakgauge.domains.queries.knowledge import Known, Seen
from leakgauge.domains.queries.splitting import By
from leakgauge.strategies.t_test import TTest
from leakgauge.theory.t_tests import Form

KNOWLEDGE = "known"
ACCEPTS = ("known",)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the question into ``queries``, and say "member" where a t-test rejects that nothing was added.

    (Huang et al., section 4.4.) ``form`` "paper" divides by m where the textbook divides by m - 1: for normal
    noise it rejects too often (7 % at m = 4 instead of 5), for Laplace noise it happens to come near the
    level, and the textbook's test stays below (3.2 %). Two ``sides`` are as printed, though a target moves
    answers to one side only, which its record tells.
    The score is log(level / p): at or above zero the test rejects.
    """

    queries: int = 10
    form: Form = "textbook"
    sides: int = 2
    level: float = 0.05
    by: By = By.IDS

    def __post_init__(self) -> None:
        require_queries(self.queries, 2)
        if not 0 < self.level < 1:
            raise BadInput(f"level must be in (0, 1), got {self.level}")
        TTest(form=self.form, sides=self.sides)  # checks both

    def study(self, knowledge: Known, rng: Generator) -> Scorer[Seen]:
        questions = Questions.about_all(knowledge, self.queries, self.by)
        decide = ByTTest(TTest(form=self.form, sides=self.sides), self.level, knowledge.shifts)
        return Scorer(AskAndDecide(questions, decide), Reading(threshold=0.0))
