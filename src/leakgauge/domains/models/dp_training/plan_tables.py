"""The table ``challenger`` of a plan about the user's own DP training."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.dp_training.claim import TrainingClaim
from leakgauge.support.table_reader import read_dataclass

MOST_CANARIES = 100_000


class CanaryCoin(StrEnum):
    """For what a coin decides whether the canary is there."""

    STEP = "step"  # a fresh coin for each step: a round is a step
    TRAINING = "training"  # one coin for all steps of a training: a round is a training


@dataclass(frozen=True, kw_only=True)
class DpTrainingChallengerTable:
    """The user's training, what is claimed of it, and the canaries.

    ``dp_training`` is a function "module:name" that trains once. Its noisy steps are watched: those of Opacus
    as they are, those of a loop written by hand through its parameter ``watch``. In each step a gradient
    canary is added to the batch or not: in one coordinate, a sign in each, or one coordinate of each
    parameter, by turns. ``canaries`` are black-box canaries instead: the function gets
    ``canaries``, which of them are in the data, and returns the loss of each.

    With ``initial_weights = "crafted"`` all trainings start where one without noise and canaries ended: there
    other records move the model least. The promise of a training holds for any initial weights.
    ``pretrained = "public"`` states that what is trained before the first noisy step sees public data only.
    """

    dp_training: str
    claim: dict[str, Any]
    coin: CanaryCoin = CanaryCoin.STEP
    canaries: int | None = None
    initial_weights: Literal["own", "crafted"] = "own"
    pretrained: Literal["public"] | None = None

    def __post_init__(self) -> None:
        if self.canaries is not None and not 1 <= self.canaries <= MOST_CANARIES:
            raise BadInput(f"canaries must be in 1..{MOST_CANARIES}, got {self.canaries}")
        if self.canaries is not None and self.coin is not CanaryCoin.STEP:
            raise BadInput(
                "canaries are in the data, each with a coin of its own in every training; leave out coin"
            )

    def read_claim(self) -> TrainingClaim:
        """Read what is claimed."""
        return read_dataclass(TrainingClaim, self.claim, "challenger.claim")


def read_dp_training_table(table: Mapping[str, Any]) -> tuple[DpTrainingChallengerTable, TrainingClaim]:
    """Read the challenger's table and its claim."""
    options = read_dataclass(DpTrainingChallengerTable, table, "challenger")
    return options, options.read_claim()
