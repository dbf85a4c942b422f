"""Models that are seen at several epochs of their training: checkpoints, the last of which is the model.

Networks of ours keep them where an attacker sees them. Training code of the user gives them by itself: it
returns or yields several models.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.models.training.gradient_descent import recipe_for_rows, train_checkpoints
from leakgauge.domains.models.training.trainer import Classifier, Examples, PreparedTrainer
from leakgauge.domains.models.training.trainers.network import NetworkTrainer
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.progress import ProgressListener

MOST_CHECKPOINTS = 10  # evenly spaced epochs; the last one is always among them
MOST_OF_USER = 100  # checkpoints of training code of the user: each is kept for all records


@dataclass(frozen=True, eq=False)
class CheckpointedModel:
    """A model and its earlier states, in their order."""

    checkpoints: tuple[Classifier, ...]

    def log_probabilities(self, rows: Floats) -> Reals:
        return self.checkpoints[-1].log_probabilities(rows)


def final_model(model: Classifier) -> Classifier:
    """The model alone, without its earlier states."""
    return model.checkpoints[-1] if isinstance(model, CheckpointedModel) else model


def require_checkpoints(model: Classifier, expected: int | None = None) -> tuple[Classifier, ...]:
    """The checkpoints of a model; refused where it has none, or not as many as others have."""
    if not isinstance(model, CheckpointedModel):
        raise BadInput(
            "the rules on loss trajectories need the checkpoints of every model; yield the model at several "
            "epochs in your training code (train), or return a list of models, the last one at its end"
        )
    if expected is not None and len(model.checkpoints) != expected:
        raise BadInput(
            f"a model has {len(model.checkpoints)} checkpoints, and another one {expected}; give as many of "
            "each, at the same epochs"
        )
    return model.checkpoints


def each_checkpoint(made: Any, where: str) -> Iterator[Any] | None:
    """The models of a list, or of a training that yields them as it goes; None for a single model."""
    if not isinstance(made, list | tuple | Iterator):
        return None
    if isinstance(made, list | tuple) and len({id(one) for one in made}) < len(made):
        raise BadInput(
            f"{where}: the same model several times, which looks the same at every checkpoint; yield it at "
            "each one, or keep copies (copy.deepcopy)"
        )
    return _counted(made, where)


def _counted(made: Sequence[Any] | Iterator[Any], where: str) -> Iterator[Any]:
    number = 0
    for number, model in enumerate(made, 1):
        if number > MOST_OF_USER:
            raise BadInput(f"{where}: more than {MOST_OF_USER} checkpoints; keep every tenth epoch, or so")
        if model is None:
            raise BadInput(f"{where}: checkpoint {number} is nothing; yield the model as it is then")
        yield model
    if not number:
        raise BadInput(f"{where}: no model; yield or return one for each checkpoint, the finished one last")


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


@runtime_checkable
class MayKeepCheckpoints(Protocol):
    """A trainer whose models have checkpoints if its code gives them."""

    @property
    def may_keep_checkpoints(self) -> bool: ...


def checkpointed(trainer: PreparedTrainer) -> PreparedTrainer:
    """The trainer with checkpoints; besides networks only code of the user has epochs that can be seen."""
    if isinstance(trainer, MayKeepCheckpoints):
        return trainer
    if not isinstance(trainer, NetworkTrainer):
        raise BadInput(
            "knowledge 'checkpoints': only the epochs of a network are seen here; use trainer = 'network', "
            "or code of your own that yields models (train), or for a finished model the losses of each "
            "checkpoint (data.losses)"
        )
    return CheckpointedTrainer(trainer=trainer)
