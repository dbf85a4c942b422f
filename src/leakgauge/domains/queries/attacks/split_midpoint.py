"""Ask whether the mean of the answers about the target is nearer to its value than to zero."""

from dataclasses import dataclass

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries.asking import AskAndDecide, Questions, require_queries
from leakgauge.domains.queries.deciding import ByMidpoint
from leakgauge.domains.queries.knowledge import Known, Seen
from leakgauge.domains.queries.splitting import By

KNOWLEDGE = "known"
ACCEPTS = ("known",)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the question into ``queries``, and cut the mean answer midway between the two worlds.

    For who knows the target's value, which a t-test does not use; the best there is under Gaussian noise.
    """

    queries: int = 10
    by: By = By.IDS

    def __post_init__(self) -> None:
        require_queries(self.queries)

    def study(self, knowledge: Known, rng: Generator) -> Scorer[Seen]:
        questions = Questions.about_all(knowledge, self.queries, self.by)
        decide = ByMidpoint(knowledge.shifts, knowledge.query.sensitivity)
        return Scorer(AskAndDecide(questions, decide), Reading(threshold=0.0, signed=True))
