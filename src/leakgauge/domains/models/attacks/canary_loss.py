"""Low loss of canaries, records that are put into the data of a DP training at random."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.domains.models.dp_training.challenger import CanaryLossesKnowledge, CanaryLossesView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score each canary by its loss under the final model: the lower, the more likely it was in the data.

    Many canaries share one training (Steinke, Nasr and Jagielski 2023).
    """

    accepts: ClassVar[tuple[str, ...]] = ("black_box",)

    def study(self, knowledge: CanaryLossesKnowledge, rng: Generator) -> Scorer[CanaryLossesView]:
        if not isinstance(knowledge, CanaryLossesKnowledge):
            raise BadInput("canary_loss: is about canaries of a DP training; add challenger.canaries")
        return Scorer(score_losses)


def score_losses(view: CanaryLossesView, rng: Generator) -> Reals:  # noqa: ARG001 (a scorer)
    """The negative losses."""
    return -view.losses
