"""The release of a round, a trained model and the records in question, and what each attacker sees of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.games.membership_game import RoundRows
from leakgauge.domains.models.training.checkpoints import (
    CheckpointedModel,
    checkpointed,
    final_model,
    require_checkpoints,
)
from leakgauge.domains.models.training.gradient_descent import initial_network, training_steps
from leakgauge.domains.models.training.mlp import MlpClassifier
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.domains.models.training.trainer import (
    Classifier,
    Examples,
    PreparedTrainer,
    accuracy,
    cross_entropy,
    training_kind,
)
from leakgauge.domains.models.training.trainers.network import counted_training, network_recipe
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.progress import report_progress
from leakgauge.support.threads import numpy_single_threaded
from leakgauge.support.work_count import TRAINING, count_work, counted_work


@dataclass(frozen=True, eq=False)
class StepView:
    """A training step as the strong attacker sees it: the noisy sum, and which known rows are in the batch.

    ``in_batch`` is whether the target's slot was drawn, where batches have a fixed size; else it is unknown.
    Arrays are overwritten by the next step.
    """

    network: MlpClassifier
    others: Ints  # positions among the rows that are always there
    released: Floats
    in_batch: bool | None


@dataclass(frozen=True, eq=False)
class TrainingRound:
    """One training; it takes place when the model is first used, and again for each pass over the steps."""

    table: Examples
    rows: RoundRows
    trainer: PreparedTrainer
    seed: int

    @property
    def shown(self) -> Examples:
        """The records in question, in the order of the trials."""
        return self.table.take(self.rows.shown)

    @cached_property
    def model(self) -> Classifier:
        """The model at the end of its training; attacks cannot change the weights of a network."""
        model = final_model(self._trained)
        if isinstance(model, MlpClassifier):
            model.weights.setflags(write=False)
        return model

    @cached_property
    def _trained(self) -> Classifier:
        rows, rng = self.table.take(self.rows.training), np.random.default_rng(self.seed)
        return counted_training(
            self.trainer, rows, lambda how: how.fit(rows, rng, report_progress, self.rows.present)
        )

    @cached_property
    def checkpoints(self) -> CheckpointedModel:
        """The model with its earlier states; a network is trained again from the same stream."""
        rows, rng = self.table.take(self.rows.training), np.random.default_rng(self.seed)
        trainer = checkpointed(self.trainer)
        if trainer is self.trainer:
            return CheckpointedModel(require_checkpoints(self._trained))
        found = counted_work(
            TRAINING,
            training_kind(trainer, rows),
            lambda: trainer.fit(rows, rng, report_progress, self.rows.present),
        )
        return CheckpointedModel(require_checkpoints(found))

    @cached_property
    def mean_loss(self) -> float:
        """The mean loss of the model on its members, without the targets where random bits decide about them.

        No promise covers this number: with targets in it, it would reveal more about them than the model.
        """
        rows = self.rows.trained_on if self.rows.settled is None else self.rows.settled
        if not rows.size:
            raise BadInput(
                "knowledge 'training_loss': all members are targets, and none is left for a mean loss; "
                'lower challenger.targets, or use knowledge = "black_box" (threshold = "optimal")'
            )
        return float(cross_entropy(self.model, self.table.take(rows)).mean())

    def accuracy(self, rows: Ints) -> float:
        """The accuracy of the model on some rows; NaN where there are none."""
        return accuracy(self.model, self.table.take(rows)) if rows.size else float("nan")

    def steps(self) -> Iterator[StepView]:
        """The steps of a network's training, which is repeated; the slot in question is the last one."""
        recipe = network_recipe(self.trainer, "steps are those of gradient descent")
        require_public_batches(recipe.schedule)
        examples = self.table.take(self.rows.training)
        count_work(TRAINING)
        slot, fixed = len(examples) - 1, recipe.schedule.sampling is not BatchSampling.POISSON
        with numpy_single_threaded():
            network, rng = initial_network(examples, recipe, np.random.default_rng(self.seed))
            for step in training_steps(examples, recipe, network, rng, self.rows.present):
                is_slot: Bits = step.batch == slot
                yield StepView(
                    step.network, step.batch[~is_slot], step.released, bool(is_slot.any()) if fixed else None
                )


def require_public_batches(schedule: TrainingSchedule) -> None:
    """Refuse to show steps with the rows of each batch where the promise requires that these are secret.

    The known rows of a batch of fixed size reveal whether the slot in question is in it. The accounting of
    batches drawn without replacement (Wang, Balle and Kasiviswanathan 2019) relies on that being a secret.
    Poisson batches reveal nothing about the slot, and the promise for shuffled ones holds for known batches.
    """
    if schedule.sampling is BatchSampling.WITHOUT_REPLACEMENT:
        raise BadInput(
            "challenger.sampling: this attacker sees the rows of each batch, and the promise for "
            "'without_replacement' holds only for secret batches; use 'poisson' or 'shuffled', or form = "
            '"retrained"'
        )


@dataclass(frozen=True, eq=False)
class LazyModels(Sequence[Any]):
    """The models of a block; each is trained when it is first used."""

    _rounds: Sequence[TrainingRound] = field(repr=False)

    def __len__(self) -> int:
        return len(self._rounds)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return LazyModels(self._rounds[position])
        return self._rounds[position].model

    def __iter__(self) -> Iterator[Classifier]:
        return (training.model for training in self._rounds)


@dataclass(frozen=True, eq=False)
class LazyCheckpoints(LazyModels):
    """The same with the checkpoints of each model."""

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return LazyCheckpoints(self._rounds[position])
        return self._rounds[position].checkpoints

    def __iter__(self) -> Iterator[Classifier]:
        return (training.checkpoints for training in self._rounds)


@dataclass(frozen=True, eq=False)
class ModelsView:
    """A block as an attacker who can query the models sees it: the models, and the records in question."""

    models: Sequence[Classifier]
    shown: Sequence[Examples]


@dataclass(frozen=True, eq=False)
class TrainingLossView(ModelsView):
    """The same, and the mean loss of each model on its members."""

    mean_losses: Reals


@dataclass(frozen=True, eq=False)
class RecordsView:
    """The records in question only."""

    shown: Sequence[Examples]


@dataclass(frozen=True, eq=False)
class TrainingView:
    """A training as the strong attacker sees it."""

    _round: TrainingRound = field(repr=False)

    @property
    def model(self) -> Classifier:
        return self._round.model

    def steps(self) -> Iterator[StepView]:
        return self._round.steps()


@dataclass(frozen=True, eq=False)
class TrainingStepsView:
    """A block as the strong attacker sees it."""

    rounds: Sequence[TrainingView]
