"""Ask whether the answers about the target have mean zero: the t-test of Huang et al."""

from dataclasses import dataclass

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries.asking import AskAndDecide, Questions
from leakgauge.domains.queries.knowledge import Known, Seen
from leakgauge.domains.queries.t_testing import TTestOptions

KNOWLEDGE = "known"
ACCEPTS = ("known",)


@dataclass(frozen=True, kw_only=True)
class Attack(TTestOptions):
    """Split the question into ``queries``, and say "member" where a t-test rejects that nothing was added.

    (Huang et al., section 4.4.) ``form`` "paper" divides by m where the textbook divides by m - 1: for normal
    noise it rejects too often (7 % at m = 4 instead of 5), for Laplace noise it happens to come near the
    level, and the textbook's test stays below (3.2 %). Two ``sides`` are as printed, though a target moves
    answers to one side only, which its record tells.
    The score is log(level / p): at or above zero the test rejects.
    """

    def study(self, knowledge: Known, rng: Generator) -> Scorer[Seen]:
        questions = Questions.about_all(knowledge, self.queries, self.by)
        return Scorer(AskAndDecide(questions, self.t_test(knowledge)), Reading(threshold=0.0))
