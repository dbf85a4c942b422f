"""Train a classifier, privately or not: the same rows and stream give the same weights anywhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.domains.models.training.mlp import (
    Ints,
    MlpClassifier,
    MlpShape,
    clipped_gradient_sum,
    glorot_network,
    gradient_sum,
)
from leakgauge.domains.models.training.optimizers import Adam, Optimizer
from leakgauge.domains.models.training.schedule import TrainingSchedule, epoch_batches
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.threads import numpy_single_threaded

_MAX_WEIGHT = 1e9  # of a weight; products over a few layers are still finite


@dataclass(frozen=True, eq=False)
class Examples:
    """The rows a model is trained on: members. Features are scaled, labels are 0..classes-1."""

    rows: Floats
    labels: Ints
    classes: int

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.labels.shape != self.rows.shape[:1]:
            raise BadInput(
                f"training needs a label for each row, got {self.labels.shape} for {self.rows.shape}"
            )
        if not np.isfinite(self.rows).all():
            raise BadInput("training: a feature is not a finite number; impute or drop it")
        if not ((self.labels >= 0) & (self.labels < self.classes)).all():
            raise BadInput(f"training: labels must be in 0..{self.classes - 1}")

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Ints) -> "Examples":
        """Some of them, by position."""
        return Examples(self.rows[rows], self.labels[rows], self.classes)


def concatenate_examples(*parts: Examples) -> Examples:
    """The rows of all parts, one after the other."""
    return Examples(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.labels for part in parts]),
        parts[0].classes,
    )


@dataclass(frozen=True, kw_only=True)
class DpSgdNoise:
    """Gaussian noise of standard deviation ``sigma * clip`` on a sum of gradients clipped to ``clip``."""

    sigma: float
    clip: float = 1.0

    def __post_init__(self) -> None:
        for name in ("sigma", "clip"):
            if not 0 < getattr(self, name) < np.inf:
                raise BadInput(f"{name} must be > 0 and finite, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """How a model is trained; without noise, gradients are not clipped either."""

    schedule: TrainingSchedule
    noise: DpSgdNoise | None = None
    hidden: tuple[int, ...] = (256, 256)
    optimizer: Optimizer = field(default_factory=Adam)


@dataclass(frozen=True, eq=False)
class TrainingStep:
    """What an adversary who watches training sees of a step, and the batch, which it does not.

    ``network`` is the one the gradients were taken at, ``released`` the noisy sum of them. Both are buffers
    that the next step overwrites.
    """

    epoch: int
    batch: Ints
    network: MlpClassifier
    released: Floats


def training_steps(
    examples: Examples,
    recipe: TrainingRecipe,
    network: MlpClassifier,
    rng: Generator,
    present: Bits | None = None,
) -> Iterator[TrainingStep]:
    """Train a network in place, step by step; a step changes its weights when the next one is asked for.

    Rows that are not ``present`` are drawn as the others are, and then left out: so whether a row is there
    changes nothing of how often others are in a batch.
    The noisy sum is divided by the batch size, under Poisson sampling by the expected one: dividing by the
    size itself would tell it (Abadi et al. 2016). Keep to one thread, as ``train_network`` does: sums depend on it.
    """
    drawing, noising = rng.spawn(2)
    move = recipe.optimizer.moving(network.weights)
    noise = np.empty_like(network.weights)
    for epoch, batches in enumerate(epoch_batches(recipe.schedule, drawing)):
        for drawn in batches:
            batch = drawn if present is None else drawn[present[drawn]]
            rows, labels = examples.rows[batch], examples.labels[batch]
            with _ignoring_overflow():
                if recipe.noise is None:
                    total = gradient_sum(network, rows, labels)
                else:
                    total = clipped_gradient_sum(network, rows, labels, recipe.noise.clip)
                    noising.standard_normal(out=noise, dtype=np.float32)
                    np.multiply(noise, recipe.noise.sigma * recipe.noise.clip, out=noise)
                    np.add(total, noise, out=total)
            yield TrainingStep(epoch, batch, network, total)
            with _ignoring_overflow():
                np.divide(total, recipe.schedule.batch, out=total)
                move(total)
        if not np.abs(network.weights).max() < _MAX_WEIGHT:
            raise BadInput(
                f"training: weights grew beyond all bounds in epoch {epoch + 1} of {recipe.schedule.epochs}; "
                "lower rate (or clip, with noise)"
            )


def _ignoring_overflow() -> np.errstate:
    """Without warnings of what overflows: weights that have grown too far are refused after the epoch."""
    return np.errstate(over="ignore", invalid="ignore")


def initial_network(
    examples: Examples, recipe: TrainingRecipe, rng: Generator
) -> tuple[MlpClassifier, Generator]:
    """A network before training, and the stream of its steps."""
    starting, stepping = rng.spawn(2)
    return glorot_network(
        MlpShape(examples.rows.shape[1], examples.classes, recipe.hidden), starting
    ), stepping


def train_network(
    examples: Examples,
    recipe: TrainingRecipe,
    rng: Generator,
    watch: Callable[[int], None] | None = None,
    present: Bits | None = None,
) -> MlpClassifier:
    """A trained network; ``watch`` is told the number of each epoch as it begins.

    Starts, batches and noise have streams of their own: models that differ in their noise alone share the
    first two.
    """
    if len(examples) != recipe.schedule.rows:
        raise BadInput(f"the schedule is for {recipe.schedule.rows} rows, got {len(examples)}")
    network, stepping = initial_network(examples, recipe, rng)
    epoch = -1
    with numpy_single_threaded():
        for step in training_steps(examples, recipe, network, stepping, present):
            if watch is not None and step.epoch > epoch:
                watch(epoch := step.epoch)
    return network
