"""The scores of answers about targets, chosen by what is asked: counts and sums, or averages."""

from leakgauge.domains.queries.average_likelihood import AverageLikelihoodScore, AverageNoise
from leakgauge.domains.queries.knowledge import OracleKnowledge
from leakgauge.domains.queries.query_splitting import (
    LikelihoodScore,
    MidpointScore,
    ScoreAnswers,
    TargetQuestions,
)


def midpoint_score(knowledge: OracleKnowledge, questions: TargetQuestions) -> MidpointScore:
    """Return the score by the mean of the answers."""
    return MidpointScore(questions.shifts(knowledge.shifts), knowledge.query.sensitivity)


def likelihood_score(knowledge: OracleKnowledge, questions: TargetQuestions) -> ScoreAnswers:
    """Return the score by the likelihood ratio."""
    if knowledge.count_noise is None:
        return LikelihoodScore(knowledge.noise.log_law, knowledge.shifts)
    return AverageLikelihoodScore(
        questions,
        AverageNoise(knowledge.noise, knowledge.count_noise),
        knowledge.shifts,
        knowledge.target_counts,
    )
