"""Likelihood-ratio test on a noisy mean: optimal for what the attacker knows."""

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.domains.models.noisy_mean import likelihood_ratio
from leakgauge.domains.models.noisy_mean.knowledge import (
    ComponentsMeanKnowledge,
    NoisyMeansView,
    ReferenceMeanKnowledge,
    StrongMeanKnowledge,
)

_MIN_IMAGINED = 10


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a record by the log-likelihood ratio of the noisy sum (Neyman and Pearson 1933).

    An attacker who knows all other records knows the two possible true sums (strong). Otherwise the others
    are simulated ``imagined`` times from reference rows: all of them (black_box), or those of each component
    (components). Several records of one round are scored one by one.
    """

    accepts: ClassVar[tuple[str, ...]] = ("components", "black_box", "strong")

    imagined: int = 500

    def __post_init__(self) -> None:
        if not self.imagined >= _MIN_IMAGINED:
            raise BadInput(f"likelihood: imagined must be >= {_MIN_IMAGINED}, got {self.imagined}")

    def study(self, knowledge: Any, rng: Generator) -> Scorer[NoisyMeansView]:
        match knowledge:
            case StrongMeanKnowledge():
                return likelihood_ratio.strong_likelihood_ratio(knowledge)
            case ReferenceMeanKnowledge():
                return likelihood_ratio.reference_likelihood_ratio(knowledge, self.imagined, rng)
            case ComponentsMeanKnowledge():
                return likelihood_ratio.components_likelihood_ratio(knowledge, self.imagined, rng)
            case _:
                raise BadInput(
                    "likelihood: the distribution of a trained model is not known; use strong, lira or "
                    "property_first, or a noisy mean (mechanism laplace, geometric or gaussian)"
                )
