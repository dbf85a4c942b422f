"""Train a network by gradient descent, with noise or without; a stream determines the weights."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training import mlp, noise_calibration, optimizers
from leakgauge.domains.models.training.schedule import TrainingSchedule, epoch_batches
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.threads import numpy_single_threaded

_MAX_WEIGHT = 1e9  # products over a few layers are still finite


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """How a network is trained; without noise, gradients are not clipped either."""

    schedule: TrainingSchedule
    noise: noise_calibration.DpSgdNoise | None = None
    hidden: tuple[int, ...] = (256, 256)
    optimizer: optimizers.Optimizer = field(default_factory=optimizers.Adam)


def recipe_for_rows(recipe: TrainingRecipe, n_rows: int) -> TrainingRecipe:
    """The same recipe for another number of rows: as many epochs, in batches that are no larger."""
    schedule = replace(recipe.schedule, rows=n_rows, batch=min(recipe.schedule.batch, n_rows))
    return replace(recipe, schedule=schedule)


@dataclass(frozen=True, eq=False)
class TrainingStep:
    """A step: what an attacker who watches the training sees, and the batch, which is secret.

    ``network`` is the network at which gradients were computed, ``released`` their noisy sum. Both are
    buffers that the next step overwrites.
    """

    epoch: int
    batch: Ints
    network: mlp.MlpClassifier
    released: Floats


def training_steps(
    examples: Examples,
    recipe: TrainingRecipe,
    network: mlp.MlpClassifier,
    rng: Generator,
    present: Bits | None = None,
) -> Iterator[TrainingStep]:
    """Train a network in place, step by step; the weights change when the iteration goes on.

    Rows that are not ``present`` are drawn like the others, and then left out: whether a row is there does
    not change how often others are in a batch. The noisy sum is divided by the batch size, under Poisson
    sampling by the expected one, because the true size is a secret (Abadi et al. 2016). Sums depend on the
    number of threads: use one, as ``train_network`` does.
    """
    batch_rng, noise_rng = rng.spawn(2)
    update = recipe.optimizer.updater(network.weights)
    noise = np.empty_like(network.weights)
    for epoch, batches in enumerate(epoch_batches(recipe.schedule, batch_rng)):
        for drawn in batches:
            batch = drawn if present is None else drawn[present[drawn]]
            rows, labels = examples.rows[batch], examples.labels[batch]
            with _ignoring_overflow():
                if recipe.noise is None:
                    total = mlp.gradient_sum(network, rows, labels)
                else:
                    total = mlp.clipped_gradient_sum(network, rows, labels, recipe.noise.clip)
                    noise_rng.standard_normal(out=noise, dtype=np.float32)
                    np.multiply(noise, recipe.noise.sigma * recipe.noise.clip, out=noise)
                    np.add(total, noise, out=total)
            yield TrainingStep(epoch, batch, network, total)
            with _ignoring_overflow():
                np.divide(total, recipe.schedule.batch, out=total)
                update(total)
        if not np.abs(network.weights).max() < _MAX_WEIGHT:
            raise BadInput(
                f"training: weights diverged in epoch {epoch + 1} of {recipe.schedule.epochs}; "
                "lower rate (or clip, with noise)"
            )


def _ignoring_overflow() -> np.errstate:
    """Suppress warnings about overflow: weights that diverge are refused after the epoch."""
    return np.errstate(over="ignore", invalid="ignore")


def initial_network(
    examples: Examples, recipe: TrainingRecipe, rng: Generator
) -> tuple[mlp.MlpClassifier, Generator]:
    """The network before training, and the stream of its steps."""
    start_rng, step_rng = rng.spawn(2)
    return mlp.glorot_network(
        mlp.MlpShape(examples.rows.shape[1], examples.classes, recipe.hidden), start_rng
    ), step_rng


def train_network(
    examples: Examples,
    recipe: TrainingRecipe,
    rng: Generator,
    watch: Callable[[int], None] | None = None,
    present: Bits | None = None,
) -> mlp.MlpClassifier:
    """Train a network; ``watch`` is called with the number of each epoch when it begins.

    Initial weights, batches and noise have streams of their own: trainings that differ only in their noise
    share the first two.
    """
    if len(examples) != recipe.schedule.rows:
        raise BadInput(f"the schedule is for {recipe.schedule.rows} rows, got {len(examples)}")
    network, step_rng = initial_network(examples, recipe, rng)
    epoch = -1
    with numpy_single_threaded():
        for step in training_steps(examples, recipe, network, step_rng, present):
            if watch is not None and step.epoch > epoch:
                watch(epoch := step.epoch)
    return network


def train_checkpoints(
    examples: Examples,
    recipe: TrainingRecipe,
    rng: Generator,
    epochs: Sequence[int],
    present: Bits | None = None,
) -> list[mlp.MlpClassifier]:
    """Train the network that ``train_network`` trains from this stream; its states after some ``epochs``."""
    network, step_rng = initial_network(examples, recipe, rng)
    kept: dict[int, mlp.MlpClassifier] = {}
    with numpy_single_threaded():
        for step in training_steps(examples, recipe, network, step_rng, present):
            if step.epoch in epochs and step.epoch not in kept:  # so many epochs are over
                kept[step.epoch] = replace(network, weights=network.weights.copy())
    kept[recipe.schedule.epochs] = network
    return [kept[epoch] for epoch in epochs]
