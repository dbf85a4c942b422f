"""Count the checkpoints at which a record's loss is below its cut, and compare that with a threshold."""

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
    """Let every checkpoint vote: the score is how many times the loss of a record is at most its cut.

    (Liu et al. 2024, algorithms 4 and 5, for loss trajectories: section 6.) The cut of a record at a
    checkpoint is the midpoint of its mean losses under ``shadows`` with it and without it; the threshold is
    the midpoint of their mean numbers of votes.
    """

    accepts: ClassVar[tuple[str, ...]] = ("checkpoints",)

    shadows: int = shadow_models.DEFAULT_SHADOWS

    def __post_init__(self) -> None:
        shadow_models.require_shadows(self.shadows, 4)

    def study(self, knowledge: CheckpointsKnowledge, rng: Generator) -> Scorer[ModelsView]:
        seen = shadow_trajectories(knowledge, self.shadows, log_true_probability, rng)
        with_it, without = seen.sides
        cuts = 0.5 * (with_it + without)
        votes = (seen.values >= cuts).sum(axis=1, keepdims=True).astype(np.float64)
        sides = (seen.included, ~seen.included)
        threshold = 0.5 * sum(seen.mean(side, votes)[0] for side in sides)
        return Scorer(_Votes(cuts, threshold), Reading(threshold=0.0, signed=True, studied=seen.studied))


@dataclass(frozen=True, eq=False)
class _Votes:
    """How far the number of votes for each target is above its threshold."""

    cuts: Reals  # checkpoints x targets
    threshold: Reals

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        pairs = zip(view.models, view.shown, strict=True)
        votes = [
            (trajectory(model, shown, log_true_probability, len(self.cuts)) >= self.cuts).sum(axis=0)
            for model, shown in pairs
        ]
        return np.array(votes) - self.threshold
