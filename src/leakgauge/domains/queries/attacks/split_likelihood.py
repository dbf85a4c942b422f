"""Ask how much likelier the answers are with the target than without it: the best there is, given the law."""

from dataclasses import dataclass

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries.asking import AskAndDecide, Questions, require_queries
from leakgauge.domains.queries.deciding import ByLikelihood
from leakgauge.domains.queries.knowledge import Known, Seen
from leakgauge.domains.queries.splitting import By

KNOWLEDGE = "known"
ACCEPTS = ("known",)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Split the question into ``queries``, and add up the log-likelihood ratios of the answers.

    (Neyman and Pearson 1933.) Exact for every noise of known law, for counts and for sums; under Laplace
    noise the answers count clipped to the stretch between the two worlds.
    """

    queries: int = 10
    by: By = By.IDS

    def __post_init__(self) -> None:
        require_queries(self.queries)

    def study(self, knowledge: Known, rng: Generator) -> Scorer[Seen]:
        questions = Questions.about_all(knowledge, self.queries, self.by)
        decide = ByLikelihood(knowledge.noise.log_law, knowledge.shifts)
        return Scorer(AskAndDecide(questions, decide), Reading(threshold=0.0, signed=True))
