"""Plant a single unit that is active on one side of a plane, without a second layer."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons import feature_distributions
from leakgauge.domains.federated.neurons.batch_threshold import best_batch_threshold
from leakgauge.domains.federated.neurons.gradient_scores import study_neurons
from leakgauge.domains.federated.neurons.network import CraftedNeuron
from leakgauge.domains.federated.neurons.perturbed_rows import perturb
from leakgauge.domains.federated.release import FederatedView

ENOUGH = 20_000  # perturbed rows of the attacker's own, for thresholds


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A control: a linear score of the row, and one unit that is active above a threshold.

    Appendix A of Nguyen et al. (2023) shows that no plane has the target t alone on one side among all
    possible rows: t + c and t - c, with c in one feature, cannot both be on the other. It does not show that
    there is no plane between t and the rows that occur: among rows of hundreds of features there usually is
    one, perturbed or not, and this control wins as well. It is weaker under much noise if the sign of a
    feature carries no information: perturbed values of a target are then near some value, not beyond one.
    The weights are Fisher's (1936) for independent features: difference of the means over the mean variance,
    of the perturbed target and of perturbed rows of the attacker's own; the threshold is found on rows that
    were held back.
    """

    accepts: ClassVar[tuple[str, ...]] = ("server",)

    draws: int = 1_000  # of a target, for the threshold
    certify: bool = False

    def __post_init__(self) -> None:
        if not self.draws >= 100:
            raise BadInput(f"draws must be >= 100, got {self.draws}")

    def study(self, knowledge: ServerKnowledge, rng: Generator) -> Scorer[FederatedView]:
        return study_neurons(knowledge, self.craft(knowledge, rng), rng, certify=self.certify)

    def craft(self, knowledge: ServerKnowledge, rng: Generator) -> list[CraftedNeuron]:
        """Craft the unit of each target."""
        mechanism = knowledge.training.mechanism
        rows = knowledge.rows[rng.permutation(len(knowledge.rows))]
        half = len(rows) // 2
        others = feature_distributions.feature_distribution(rows[:half], mechanism, rng)
        held_back = perturb(rows[half:], max(1, ENOUGH // (len(rows) - half)), mechanism, rng)
        crafted = []
        for target in knowledge.targets[:, None]:
            weights = _weights(
                feature_distributions.feature_distribution(target, mechanism, rng), others
            ).astype(np.float32)
            own = (perturb(target, self.draws, mechanism, rng) @ weights).astype(np.float64)
            scores = (held_back @ weights).astype(np.float64)
            threshold, _ = best_batch_threshold(own, scores, knowledge.others)
            biases = np.array([-threshold], dtype=np.float32)
            unit = CraftedNeuron(weights[None], biases, np.ones(1, dtype=np.float32), 0.0)
            crafted.append(unit.normalised(own - threshold, scores))
        return crafted


def _weights(
    own: feature_distributions.FeatureDistribution, others: feature_distributions.FeatureDistribution
) -> Reals:
    """Return one weight per feature; 0 for features that are constant in all rows."""
    own_moments, other = own.moments(_identity_basis), others.moments(_identity_basis)
    spread = ((own_moments.covariances + other.covariances) / 2)[:, 0, 0]
    difference = (own_moments.means - other.means)[:, 0]
    return np.divide(difference, spread, out=np.zeros_like(spread), where=spread > 0)


def _identity_basis(values: Reals) -> Reals:
    return values[:, None]
