"""Compare the loss of a record with its loss under models that were not trained on it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models import shadow_models
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import log_true_probability, per_round, signal_matrix
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_predictions import ShadowModels
from leakgauge.domains.models.training.trainer import Examples


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a record by its mean loss under ``shadows`` models without it, minus its loss.

    (Watson et al. 2022.) This removes how hard a record is for any model. The shadows are trained on the
    attacker's reference rows.
    """

    accepts: ClassVar[tuple[str, ...]] = ("black_box", "training_loss", "components")

    shadows: int = shadow_models.DEFAULT_SHADOWS

    def __post_init__(self) -> None:
        shadow_models.require_shadows(self.shadows, 1)

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        shadows = shadow_models.shadows_without_targets(knowledge, self.shadows, rng)
        return Scorer(_Score(shadows), Reading(studied=shadows.studied))


@dataclass(frozen=True, eq=False)
class _Score:
    shadows: ShadowModels

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        return np.array(
            [
                log_true_probability(model, shown) - expected
                for model, shown, expected in per_round(view, self._mean_without)
            ]
        )

    def _mean_without(self, shown: Examples) -> Reals:
        without = self.shadows.without(shown)
        logs = signal_matrix(self.shadows.models, shown, log_true_probability)
        return np.where(without, logs, 0.0).sum(axis=0) / without.sum(axis=0)
