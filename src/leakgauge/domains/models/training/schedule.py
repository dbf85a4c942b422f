"""Epochs, batches and how they are sampled: the schedule of a training."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput


class BatchSampling(StrEnum):
    """How batches are drawn; the promise of noise depends on it."""

    POISSON = "poisson"  # every row joins every batch with the same probability, independently
    SHUFFLED = "shuffled"  # every row is in one batch of an epoch, or in none if it is left over
    WITHOUT_REPLACEMENT = "without_replacement"  # every batch is drawn from all rows, in a fixed size


MOST_STEPS = 10**7


@dataclass(frozen=True, kw_only=True)
class TrainingSchedule:
    """Epochs over rows, in batches; an epoch has as many steps as whole batches fit into the rows."""

    rows: int
    batch: int = 200  # the expected size under Poisson sampling
    epochs: int = 100
    sampling: BatchSampling = BatchSampling.POISSON

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= self.rows:
            raise BadInput(f"batch must be in 1..{self.rows} (training rows), got {self.batch}")
        if not self.epochs >= 1:
            raise BadInput(f"epochs must be >= 1, got {self.epochs}")
        if not self.steps <= MOST_STEPS:
            raise BadInput(
                f"{self.epochs} epochs of {self.per_epoch} steps are more than {MOST_STEPS} steps; lower "
                "epochs, or raise batch"
            )

    @property
    def per_epoch(self) -> int:
        return self.rows // self.batch

    @property
    def steps(self) -> int:
        return self.epochs * self.per_epoch

    @property
    def share(self) -> float:
        """The probability that a row is in a batch."""
        return self.batch / self.rows


def epoch_batches(schedule: TrainingSchedule, rng: Generator) -> Iterator[list[Ints]]:
    """The batches of each epoch, as positions of rows."""
    for _ in range(schedule.epochs):
        yield _epoch(schedule, rng)


def _epoch(schedule: TrainingSchedule, rng: Generator) -> list[Ints]:
    n, size, steps = schedule.rows, schedule.batch, schedule.per_epoch
    match schedule.sampling:
        case BatchSampling.SHUFFLED:
            return list(rng.permutation(n)[: steps * size].reshape(steps, size))
        case BatchSampling.WITHOUT_REPLACEMENT:
            return [_subset(n, size, rng) for _ in range(steps)]
        case BatchSampling.POISSON:
            # Given how many rows joined, every set of that size is equally likely.
            return [_subset(n, joined, rng) for joined in rng.binomial(n, schedule.share, size=steps)]


def _subset(n: int, size: int, rng: Generator) -> Ints:
    return np.sort(rng.choice(n, size, replace=False, shuffle=False))
