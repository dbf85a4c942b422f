"""BASE: the model's probability of a record's class over its mean probability under shadow models."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models import shadow_models
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import (
    log_mean,
    log_true_probability,
    per_round,
    signal_matrix,
)
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_predictions import ShadowModels
from leakgauge.domains.models.training.trainer import Examples


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a record by the log-ratio of its likelihood exp(-loss) to the mean likelihood over ``shadows``.

    (Lassila et al. 2025: the Bayes-optimal rule where a model is a sample from its posterior.) The mean is
    over all shadows, whether they were trained on the record or not; nothing is fitted to a record, so few
    shadows are enough.
    """

    accepts: ClassVar[tuple[str, ...]] = ("black_box", "training_loss", "components")

    shadows: int = shadow_models.DEFAULT_SHADOWS

    def __post_init__(self) -> None:
        shadow_models.require_shadows(self.shadows, 1)

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        online = knowledge.targets is not None and self.shadows > 1
        make = shadow_models.shadows_with_targets if online else shadow_models.shadows_without_targets
        shadows = make(knowledge, self.shadows, rng)
        return Scorer(_LogRatio(shadows), Reading(studied=shadows.studied))


@dataclass(frozen=True, eq=False)
class _LogRatio:
    shadows: ShadowModels

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        return np.array(
            [
                log_true_probability(model, shown) - usual
                for model, shown, usual in per_round(view, self._log_mean)
            ]
        )

    def _log_mean(self, shown: Examples) -> Reals:
        logs = signal_matrix(self.shadows.models, shown, log_true_probability)
        return log_mean(logs, np.ones(logs.shape, dtype=np.bool_))
