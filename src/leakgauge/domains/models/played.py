"""What a block of rounds about models shows: a trained model for each round, and the records in question."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.core.telling import tell
from leakgauge.core.threads import in_one_thread
from leakgauge.domains.models.games.deal import Deal
from leakgauge.domains.models.table.sheet import Ints
from leakgauge.domains.models.training.batches import Sampling
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
        """Of the model on its members."""
        return float(losses(self.model, self.table.take(self.deal.trained_on)).mean())

    def accuracy(self, rows: Ints) -> float:
        """The share of some rows of which the model is right; not a number where there are none."""
        some = self.table.take(rows)
        return self.model.accuracy(some.rows, some.labels) if rows.size else float("nan")

    def steps(self) -> Iterator[SeenStep]:
        """The training once more; the slot in question is the last one."""
        examples = self.table.take(self.deal.training)
        slot, fixed = len(examples) - 1, self.recipe.schedule.sampling is not Sampling.POISSON
        with in_one_thread():
            network, rng = begun(examples, self.recipe, np.random.default_rng(self.seed))
            for step in steps(examples, self.recipe, network, rng, self.deal.present):
                is_slot: Bits = step.batch == slot
                yield SeenStep(
                    step.network, step.batch[~is_slot], step.released, bool(is_slot.any()) if fixed else None
                )


def losses(model: Model, records: Examples) -> Reals:
    """The cross-entropy of each record."""
    found = model.log_probabilities(records.rows)
    return -np.take_along_axis(found, records.labels[:, None], axis=1)[:, 0]
