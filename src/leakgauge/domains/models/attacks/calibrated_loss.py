"""Ask whether the loss on a record is lower than that of models which never saw it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import log_true_probability, per_round, signal_matrix
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_models import (
    DEFAULT_SHADOWS,
    ShadowModels,
    require_shadows,
    shadows_without_targets,
)
from leakgauge.domains.models.training.trainer import Examples


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a record by its mean loss under ``shadows`` models without it, minus its loss.

    (Watson et al. 2022.) A record that any model finds hard, or easy, is no longer told by that. The shadows
    are trained on rows of the adversary's own.
    """

    accepts: ClassVar[tuple[str, ...]] = ("black_box", "training_loss", "components")

    shadows: int = DEFAULT_SHADOWS

    def __post_init__(self) -> None:
        require_shadows(self.shadows, 1)

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        shadows = shadows_without_targets(knowledge, self.shadows, rng)
        return Scorer(_Score(shadows), Reading(studied=shadows.studied))


@dataclass(frozen=True, eq=False)
class _Score:
    shadows: ShadowModels

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        return np.array(
            [
                log_true_probability(model, shown) - usual
                for model, shown, usual in per_round(view, self._usual)
            ]
        )

    def _usual(self, shown: Examples) -> Reals:
        return signal_matrix(self.shadows.models, shown, log_true_probability).mean(axis=0)
