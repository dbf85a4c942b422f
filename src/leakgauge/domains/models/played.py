"""What a block of rounds about models shows: a trained model for each round, and the records in question."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.core.telling import tell
from leakgauge.core.threads import in_one_thread
from leakgauge.domains.models.games.deal import Deal
from leakgauge.domains.models.table.sheet import Ints
from leakgauge.domains.models.training.batches import Sampling, Schedule
from leakgauge.domains.models.training.learning import Examples, Recipe, begun, steps, train
from leakgauge.domains.models.training.network import Network
from leakgauge.strategies.clipping import Floats


class Model(Protocol):
    """A classifier that can be asked."""

    def log_probabilities(self, rows: Floats) -> Reals:
        """Rows x classes."""
        ...


@dataclass(frozen=True, eq=False)
class SeenStep:
    """A training step as the strong adversary sees it: the noisy sum, and which of its known rows are in it.

    ``in_batch`` says whether the target's slot was drawn, where batches have a fixed size; else nobody knows.
    Arrays are overwritten by the next step.
    """

    network: Network
    others: Ints  # positions among the rows that are always there
    released: Floats
    in_batch: bool | None


@dataclass(frozen=True, eq=False)
class Round:
    """One training; it takes place when somebody first looks, and again for whoever sees every step."""

    table: Examples
    deal: Deal
    recipe: Recipe
    seed: int

    @property
    def shown(self) -> Examples:
        """The records in question, in the order of the trials."""
        return self.table.take(self.deal.shown)

    @cached_property
    def model(self) -> Network:
        epochs = self.recipe.schedule.epochs
        return train(
            self.table.take(self.deal.training),
            self.recipe,
            np.random.default_rng(self.seed),
            lambda epoch: tell(f"epoch {epoch + 1} of {epochs}"),
            self.deal.present,
        )

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
        return float(losses(self.model, self.table.take(rows)).mean())

    def accuracy(self, rows: Ints) -> float:
        """The share of some rows of which the model is right; not a number where there are none."""
        some = self.table.take(rows)
        return self.model.accuracy(some.rows, some.labels) if rows.size else float("nan")

    def steps(self) -> Iterator[SeenStep]:
        """The training once more; the slot in question is the last one."""
        require_promised_steps(self.recipe.schedule)
        examples = self.table.take(self.deal.training)
        slot, fixed = len(examples) - 1, self.recipe.schedule.sampling is not Sampling.POISSON
        with in_one_thread():
            network, rng = begun(examples, self.recipe, np.random.default_rng(self.seed))
            for step in steps(examples, self.recipe, network, rng, self.deal.present):
                is_slot: Bits = step.batch == slot
                yield SeenStep(
                    step.network, step.batch[~is_slot], step.released, bool(is_slot.any()) if fixed else None
                )


def require_promised_steps(schedule: Schedule) -> None:
    """Refuse to show steps to somebody who knows who is in a batch, where the promise rests on not knowing.

    A batch of a fixed size that is drawn anew tells by its known rows whether the slot in question is in it;
    the accounting of such batches (Wang, Balle and Kasiviswanathan 2019) gains from that being a secret.
    Poisson batches tell nothing of the slot, and what is promised of shuffled ones holds for known batches.
    """
    if schedule.sampling is Sampling.WITHOUT_REPLACEMENT:
        raise BadInput(
            "challenger.sampling: whoever sees the steps sees who is in each batch, and the promise of "
            "'without_replacement' is for batches that are secret; use 'poisson' or 'shuffled', or form = "
            '"retrained"'
        )


def losses(model: Model, records: Examples) -> Reals:
    """The cross-entropy of each record."""
    found = model.log_probabilities(records.rows)
    return -np.take_along_axis(found, records.labels[:, None], axis=1)[:, 0]
