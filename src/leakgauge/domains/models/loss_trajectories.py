"""Loss trajectories: what a model says of a record at each checkpoint, and what shadow models say of it.

Liu et al. (2024, section 6) propose their score functions for all releases with several observations of a
person, and name loss trajectories: each checkpoint is an observation. Observations are negated losses or
log-odds, so that they are higher for members.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.models import shadow_models
from leakgauge.domains.models.knowledge import CheckpointsKnowledge
from leakgauge.domains.models.membership_signals import Signal
from leakgauge.domains.models.training.checkpoints import require_checkpoints
from leakgauge.domains.models.training.trainer import Classifier, Examples


def trajectory(model: Classifier, records: Examples, signal: Signal, expected: int | None = None) -> Reals:
    """Checkpoints x records; ``expected`` is how many checkpoints other models have."""
    return np.array([signal(one, records) for one in require_checkpoints(model, expected)])


@dataclass(frozen=True, eq=False)
class ShadowTrajectories:
    """The trajectories of all targets under shadow models, and which targets each was trained on."""

    values: Reals  # shadows x checkpoints x targets
    included: Bits  # shadows x targets
    studied: dict[str, float]

    def mean(self, side: Bits, values: Reals | None = None) -> Reals:
        """The mean over the shadows of one side, for each target: checkpoints x targets."""
        given = self.values if values is None else values
        marked = side[:, None, :]
        return np.where(marked, given, 0.0).sum(axis=0) / marked.sum(axis=0)

    @property
    def sides(self) -> tuple[Reals, Reals]:
        """Mean trajectories with each target and without it."""
        return self.mean(self.included), self.mean(~self.included)

    def residuals(self) -> Reals:
        """What each shadow is off by from the mean of its side: (shadows x targets) x checkpoints."""
        with_it, without = self.sides
        centred = self.values - np.where(self.included[:, None, :], with_it, without)
        return centred.transpose(0, 2, 1).reshape(-1, self.values.shape[1])


def shadow_trajectories(
    knowledge: CheckpointsKnowledge, n_shadows: int, signal: Signal, rng: Generator
) -> ShadowTrajectories:
    """Train shadows with and without each target, or take those given, and read all of their checkpoints."""
    shadows = shadow_models.shadows_with_targets(knowledge, n_shadows, rng)
    targets = shadow_models.require_targets(knowledge)
    expected = len(require_checkpoints(shadows.models[0]))
    values = np.array([trajectory(model, targets, signal, expected) for model in shadows.models])
    studied = shadows.studied | {"checkpoints": float(values.shape[1])}
    return ShadowTrajectories(values, shadows.targets, studied)
