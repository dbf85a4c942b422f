"""Matched filter for a canary in the steps of a DP training, whose other gradients are all known."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models.dp_training.challenger import CanaryStepsKnowledge, CanaryStepsView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a round by the log-likelihood ratio of its noisy steps (Nasr et al. 2021).

    Without everybody else's gradients, the component of a noisy sum along the canary is 1 if the canary is in
    it, else 0, plus Gaussian noise. The ratio is that of the noise which the claim needs.
    """

    accepts: ClassVar[tuple[str, ...]] = ("strong",)

    def study(self, knowledge: CanaryStepsKnowledge, rng: Generator) -> Scorer[CanaryStepsView]:
        if not isinstance(knowledge, CanaryStepsKnowledge):
            raise BadInput("gradient_canary: is about the steps of a DP training; add challenger.dp_training")
        return Scorer(CanaryStepsScorer(knowledge.sigma), Reading(signed=True, threshold=0.0))


@dataclass(frozen=True)
class CanaryStepsScorer:
    """Adds up the ratios of all steps of each round."""

    sigma: float

    def __call__(self, view: CanaryStepsView, rng: Generator) -> Reals:
        sums = [float(np.sum(steps - 0.5)) for steps in view.projections]
        return np.array(sums)[:, None] / self.sigma**2
