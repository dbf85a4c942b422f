"""Compare the sum of a record's losses over all checkpoints with a threshold (Liu et al. 2024)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models import shadow_models
from leakgauge.domains.models.knowledge import CheckpointsKnowledge
from leakgauge.domains.models.loss_trajectories import shadow_trajectories, trajectory
from leakgauge.domains.models.membership_signals import log_true_probability
from leakgauge.domains.models.release import ModelsView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a record by the sum of its negated losses over the checkpoints of a training.

    (Liu et al. 2024, algorithms 2 and 3, for loss trajectories: section 6.) The threshold of a record is the
    midpoint of the mean sums of ``shadows`` with it and without it.
    """

    accepts: ClassVar[tuple[str, ...]] = ("checkpoints",)

    shadows: int = shadow_models.DEFAULT_SHADOWS

    def __post_init__(self) -> None:
        shadow_models.require_shadows(self.shadows, 4)

    def study(self, knowledge: CheckpointsKnowledge, rng: Generator) -> Scorer[ModelsView]:
        seen = shadow_trajectories(knowledge, self.shadows, log_true_probability, rng)
        with_it, without = seen.sides
        threshold = 0.5 * (with_it.sum(axis=0) + without.sum(axis=0))
        return Scorer(
            _SumAbove(threshold, seen.values.shape[1]),
            Reading(threshold=0.0, signed=True, studied=seen.studied),
        )


@dataclass(frozen=True, eq=False)
class _SumAbove:
    """How far the sum of each target is above its threshold."""

    threshold: Reals
    checkpoints: int

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        pairs = zip(view.models, view.shown, strict=True)
        sums = [
            trajectory(model, shown, log_true_probability, self.checkpoints).sum(axis=0)
            for model, shown in pairs
        ]
        return np.array(sums) - self.threshold
