"""The release of each round, a trained model with the records in question, and what each attacker sees of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.games.membership_game import RoundRows
from leakgauge.domains.models.training.gradient_descent import initial_network, training_steps
from leakgauge.domains.models.training.mlp import MlpClassifier
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.domains.models.training.trainer import (
    Classifier,
    Examples,
    PreparedTrainer,
    accuracy,
    cross_entropy,
)
from leakgauge.domains.models.training.trainers.network import network_recipe
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.progress import report_progress
from leakgauge.support.threads import numpy_single_threaded


@dataclass(frozen=True, eq=False)
class StepView:
    """A training step as the strong adversary sees it: the noisy sum, and which of its known rows are in it.

    ``in_batch`` says whether the target's slot was drawn, where batches have a fixed size; else nobody knows.
    Arrays are overwritten by the next step.
    """

    network: MlpClassifier
    others: Ints  # positions among the rows that are always there
    released: Floats
    in_batch: bool | None


@dataclass(frozen=True, eq=False)
class TrainingRound:
    """One training; it takes place when somebody first looks, and again for whoever sees every step."""

    table: Examples
    deal: RoundRows
    trainer: PreparedTrainer
    seed: int

    @property
    def shown(self) -> Examples:
        """The records in question, in the order of the trials."""
        return self.table.take(self.deal.shown)

    @cached_property
    def model(self) -> Classifier:
        rows = self.table.take(self.deal.training)
        return self.trainer.fit(rows, np.random.default_rng(self.seed), report_progress, self.deal.present)

    @cached_property
    def mean_loss(self) -> float:
        """Of the model on its members; where coins decide of some, on those that are in without them.

        No promise covers this number: with targets in it, it would tell of coins what the model does not.
        """
        rows = self.deal.trained_on if self.deal.settled is None else self.deal.settled
        if not rows.size:
            raise BadInput(
                "knowledge 'training_loss': all members are in question, and none is left for a mean loss; "
                'lower challenger.targets, or use knowledge = "black_box" (threshold = "optimal")'
            )
        return float(cross_entropy(self.model, self.table.take(rows)).mean())

    def accuracy(self, rows: Ints) -> float:
        """The share of some rows of which the model is right; not a number where there are none."""
        return accuracy(self.model, self.table.take(rows)) if rows.size else float("nan")

    def steps(self) -> Iterator[StepView]:
        """The steps of a network's training, which takes place again; the slot in question is the last one."""
        recipe = network_recipe(self.trainer, "steps are those of gradient descent")
        require_public_batches(recipe.schedule)
        examples = self.table.take(self.deal.training)
        slot, fixed = len(examples) - 1, recipe.schedule.sampling is not BatchSampling.POISSON
        with numpy_single_threaded():
            network, rng = initial_network(examples, recipe, np.random.default_rng(self.seed))
            for step in training_steps(examples, recipe, network, rng, self.deal.present):
                is_slot: Bits = step.batch == slot
                yield StepView(
                    step.network, step.batch[~is_slot], step.released, bool(is_slot.any()) if fixed else None
                )


def require_public_batches(schedule: TrainingSchedule) -> None:
    """Refuse to show steps to somebody who knows who is in a batch, where the promise rests on not knowing.

    A batch of a fixed size that is drawn anew tells by its known rows whether the slot in question is in it;
    the accounting of such batches (Wang, Balle and Kasiviswanathan 2019) gains from that being a secret.
    Poisson batches tell nothing of the slot, and what is promised of shuffled ones holds for known batches.
    """
    if schedule.sampling is BatchSampling.WITHOUT_REPLACEMENT:
        raise BadInput(
            "challenger.sampling: whoever sees the steps sees who is in each batch, and the promise of "
            "'without_replacement' is for batches that are secret; use 'poisson' or 'shuffled', or form = "
            '"retrained"'
        )


@dataclass(frozen=True, eq=False)
class LazyModels(Sequence[Any]):
    """The models of a block; each is trained when it is first asked for."""

    _rounds: Sequence[TrainingRound] = field(repr=False)

    def __len__(self) -> int:
        return len(self._rounds)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return LazyModels(self._rounds[position])
        return self._rounds[position].model

    def __iter__(self) -> Iterator[Classifier]:
        return (one.model for one in self._rounds)


@dataclass(frozen=True, eq=False)
class ModelsView:
    """A block as whoever may ask the models sees it: models, and the records in question."""

    models: Sequence[Classifier]
    shown: Sequence[Examples]


@dataclass(frozen=True, eq=False)
class TrainingLossView(ModelsView):
    """The same, and the mean loss of each model on its members."""

    mean_losses: Reals


@dataclass(frozen=True, eq=False)
class RecordsView:
    """The records in question alone."""

    shown: Sequence[Examples]


@dataclass(frozen=True, eq=False)
class TrainingView:
    """A training as the strong adversary sees it."""

    _round: TrainingRound = field(repr=False)

    @property
    def model(self) -> Classifier:
        return self._round.model

    def steps(self) -> Iterator[StepView]:
        return self._round.steps()


@dataclass(frozen=True, eq=False)
class TrainingStepsView:
    """A block as the strong adversary sees it."""

    rounds: Sequence[TrainingView]
