"""The likelihood ratio of a record's whole loss trajectory, as a Gaussian with and without the record."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models import shadow_models
from leakgauge.domains.models.knowledge import CheckpointsKnowledge
from leakgauge.domains.models.loss_trajectories import ShadowTrajectories, shadow_trajectories, trajectory
from leakgauge.domains.models.membership_signals import log_odds
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.training.trainer import Classifier, Examples

_LARGEST_ODDS = 100.0  # answers that are certain
_RIDGE = 1e-3  # of the mean variance: checkpoints late in a training say nearly the same


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a record by the log-ratio of two Gaussians over the log-odds of its class at all checkpoints.

    The likelihood rule of Liu et al. (2024) for loss trajectories (their section 6), which the threshold
    rules stand in for: optimal if trajectories are Gaussian. Means are those of each record under ``shadows``
    with it and without it; the covariance of checkpoints is shared by all records and both sides, since few
    shadows cannot show that of each.
    """

    accepts: ClassVar[tuple[str, ...]] = ("checkpoints",)

    shadows: int = shadow_models.DEFAULT_SHADOWS

    def __post_init__(self) -> None:
        shadow_models.require_shadows(self.shadows, 4)

    def study(self, knowledge: CheckpointsKnowledge, rng: Generator) -> Scorer[ModelsView]:
        seen = shadow_trajectories(knowledge, self.shadows, _bounded_log_odds, rng)
        with_it, without = seen.sides
        weights: Reals = np.linalg.solve(shared_covariance(seen), with_it - without).astype(np.float64)
        score = _LinearRatio(weights, 0.5 * (with_it + without))
        return Scorer(score, Reading(threshold=0.0, signed=True, studied=seen.studied))


def shared_covariance(seen: ShadowTrajectories) -> Reals:
    """The covariance of checkpoints about the means of each record and side, over all of them."""
    residuals = seen.residuals()
    freedom = residuals.shape[0] - 2 * seen.included.shape[1]
    covariance = residuals.T @ residuals / max(freedom, 1)
    scale = max(float(np.trace(covariance)) / len(covariance), 1e-12)
    return covariance + _RIDGE * scale * np.eye(len(covariance))


def _bounded_log_odds(model: Classifier, records: Examples) -> Reals:
    odds = log_odds(model, records)  # losses that are no cross-entropies have no odds: one column
    return odds if records.classes == 1 else np.clip(odds, -_LARGEST_ODDS, _LARGEST_ODDS)


@dataclass(frozen=True, eq=False)
class _LinearRatio:
    """The log-ratio of two Gaussians with the same covariance, which is linear in the trajectory."""

    weights: Reals  # checkpoints x targets
    middle: Reals

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        pairs = zip(view.models, view.shown, strict=True)
        n = len(self.middle)
        seen = [trajectory(model, shown, _bounded_log_odds, n) for model, shown in pairs]
        return np.array([(self.weights * (one - self.middle)).sum(axis=0) for one in seen])
