"""Compare the model's loss on a record with a threshold."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models.knowledge import BlackBoxKnowledge, TrainingLossKnowledge
from leakgauge.domains.models.release import ModelsView, TrainingLossView
from leakgauge.domains.models.training.trainer import cross_entropy


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a record by its loss: the cross-entropy of its class (Yeom et al. 2018).

    With ``threshold = "average"`` a record is called a member if its loss is at most the mean loss of the
    members, which the attacker must know. With "optimal" the loss is the score, and the threshold is chosen
    on other trials than it is evaluated on.
    """

    accepts: ClassVar[tuple[str, ...]] = ("training_loss", "black_box", "components")

    threshold: Literal["average", "optimal"] = "average"

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        if self.threshold == "optimal":
            return Scorer(_negated)
        if not isinstance(knowledge, TrainingLossKnowledge):
            raise BadInput(
                'threshold = "average" compares with the mean loss of the members, which this attacker does '
                'not know; use knowledge = "training_loss", or threshold = "optimal"'
            )
        return Scorer(_below_average, Reading(threshold=0.0))


def _negated(view: ModelsView, rng: Generator) -> Reals:  # noqa: ARG001
    """The losses, negated, because members have low losses. Losses in a file may be infinitely large."""
    losses = [cross_entropy(model, shown) for model, shown in zip(view.models, view.shown, strict=True)]
    return -np.minimum(losses, np.finfo(np.float64).max / 2)


def _below_average(view: ModelsView, rng: Generator) -> Reals:
    """How far the loss of each record is below the average."""
    assert isinstance(view, TrainingLossView)
    return _negated(view, rng) + view.mean_losses[:, None]
