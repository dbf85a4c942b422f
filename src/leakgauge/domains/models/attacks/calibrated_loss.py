"""Ask whether the loss on a record is lower than that of models which never saw it."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.models.knowledge import BlackBox
from leakgauge.domains.models.seen import Seen
from leakgauge.domains.models.shadowing.shadows import SHADOWS, Shadows, require_shadows, without_targets
from leakgauge.domains.models.shadowing.signals import log_chances, of_models, per_round
from leakgauge.domains.models.training.learning import Examples

KNOWLEDGE = "black_box"
ACCEPTS = ("black_box", "training_loss", "components")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a record by its mean loss under ``shadows`` models without it, minus its loss.

    (Watson et al. 2022.) A record that any model finds hard, or easy, is no longer told by that. The shadows
    are trained on rows of the adversary's own.
    """

    shadows: int = SHADOWS

    def __post_init__(self) -> None:
        require_shadows(self.shadows, 1)

    def study(self, knowledge: BlackBox, rng: Generator) -> Scorer[Seen]:
        shadows = without_targets(knowledge, self.shadows, rng)
        return Scorer(_Score(shadows), Reading(studied=shadows.studied))


@dataclass(frozen=True, eq=False)
class _Score:
    shadows: Shadows

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        return np.array(
            [log_chances(model, shown) - usual for model, shown, usual in per_round(seen, self._usual)]
        )

    def _usual(self, shown: Examples) -> Reals:
        return of_models(self.shadows.models, shown, log_chances).mean(axis=0)
