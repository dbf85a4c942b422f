"""Models that are seen at several epochs of their training: checkpoints, the last of which is the model."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.models.training.gradient_descent import recipe_for_rows, train_checkpoints
from leakgauge.domains.models.training.trainer import Classifier, Examples, PreparedTrainer
from leakgauge.domains.models.training.trainers.network import NetworkTrainer
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.progress import ProgressListener

MOST_CHECKPOINTS = 10  # evenly spaced epochs; the last one is always among them


@dataclass(frozen=True, eq=False)
class CheckpointedModel:
    """A model and its earlier states, in their order."""

    checkpoints: tuple[Classifier, ...]

    def log_probabilities(self, rows: Floats) -> Reals:
        return self.checkpoints[-1].log_probabilities(rows)


def checkpoint_epochs(epochs: int) -> tuple[int, ...]:
    """After how many epochs a checkpoint is seen.

    >>> checkpoint_epochs(4), checkpoint_epochs(100)
    ((1, 2, 3, 4), (10, 20, 30, 40, 50, 60, 70, 80, 90, 100))
    """
    spaced = np.linspace(epochs / MOST_CHECKPOINTS, epochs, MOST_CHECKPOINTS).round().astype(int)
    return tuple(np.unique(np.maximum(spaced, 1)).tolist())


@dataclass(frozen=True, kw_only=True)
class CheckpointedTrainer:
    """Trains the same networks as another trainer from the same stream, and keeps their checkpoints."""

    trainer: NetworkTrainer

    @property
    def guarantee(self) -> Guarantee | None:
        """That of the training: the promise of noisy gradients holds for all steps together."""
        return self.trainer.guarantee

    @property
    def group_guarantee(self) -> Guarantee | None:
        return self.trainer.group_guarantee

    def fit(
        self,
        examples: Examples,
        rng: Generator,
        watch: ProgressListener | None = None,
        present: Bits | None = None,
    ) -> CheckpointedModel:
        recipe = recipe_for_rows(self.trainer.recipe, len(examples))
        if watch is not None:
            watch(f"training {recipe.schedule.epochs} epochs")
        epochs = checkpoint_epochs(recipe.schedule.epochs)
        return CheckpointedModel(tuple(train_checkpoints(examples, recipe, rng, epochs, present)))

    def without_noise(self) -> "CheckpointedTrainer":
        return CheckpointedTrainer(trainer=self.trainer.without_noise())


def checkpointed(trainer: PreparedTrainer) -> CheckpointedTrainer:
    """The trainer with checkpoints; only networks have epochs that can be seen."""
    if not isinstance(trainer, NetworkTrainer):
        raise BadInput(
            "knowledge 'checkpoints': only the epochs of a network are seen here; use trainer = 'network', "
            "or for a finished model the losses of each checkpoint (data.losses)"
        )
    return CheckpointedTrainer(trainer=trainer)
