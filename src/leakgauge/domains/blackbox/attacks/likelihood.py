"""Likelihood-ratio test: the optimal attack when the noise distribution is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.blackbox.knowledge import LawKnowledge, LogRatio, OwnLawKnowledge
from leakgauge.domains.blackbox.shadows import draw_shadows
from leakgauge.strategies.score_selection import choose_score
from leakgauge.support.work_count import work_of_size

_FEWEST_SHADOWS = 100  # from which an estimate of the time is made


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score an output by the log-likelihood ratio, summed over its coordinates (Neyman and Pearson 1933).

    The share of rounds on which to guess is fixed beforehand, on simulated ``shadows``, for the
    delta of the promise; with ``shadows = 0`` it is not fixed.
    """

    accepts: ClassVar[tuple[str, ...]] = ("law",)

    shadows: int = 20_000

    def __post_init__(self) -> None:
        if not self.shadows >= 0:
            raise BadInput(f"likelihood: shadows must be >= 0, got {self.shadows}")

    def study(self, knowledge: LawKnowledge | OwnLawKnowledge, rng: Generator) -> Scorer[Sequence[Any]]:
        if not isinstance(knowledge, (LawKnowledge, OwnLawKnowledge)):
            raise BadInput(
                'likelihood: needs knowledge = "law", and so a named mechanism, or mechanism.law for your '
                "own release; or use learned_event"
            )
        score = LikelihoodScorer(knowledge.log_ratio())
        if not self.shadows:
            return Scorer(score, Reading(threshold=0.0, signed=True))

        def best_fraction(n_shadows: int) -> float:
            shadows = draw_shadows(knowledge.simulate, n_shadows, rng)
            scores = score(shadows.outputs, rng)[:, 0]
            return choose_score([scores], shadows.members, delta=knowledge.delta).fraction

        fraction = work_of_size(best_fraction, self.shadows, _FEWEST_SHADOWS)
        return Scorer(score, Reading(threshold=0.0, signed=True, fraction=fraction))


@dataclass(frozen=True, eq=False)
class LikelihoodScorer:
    """Scores a block by the log-likelihood ratio."""

    ratio: LogRatio

    def __call__(self, view: Sequence[Any], rng: Generator) -> Reals:
        return self.ratio(view)[:, None]
