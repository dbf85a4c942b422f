"""Turn crafted neurons into a scorer of the gradients that clients send back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.federated.certificates.neuron_certificate import certified_rates
from leakgauge.domains.federated.clients.gradients import clipped_neuron_gradient
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons.network import CraftedNeuron, Floats, PlantedNetwork
from leakgauge.domains.federated.neurons.perturbed_rows import perturb
from leakgauge.domains.federated.neurons.stealth import mean_stealth
from leakgauge.domains.federated.release import FederatedView

LARGEST_UNIT_RMS = 64.0  # root mean square over units; logits of the honest layers are about a quarter of it
N_REFERENCE_ROWS = 32  # rows of the attacker that are looked at


def rescale_first_layers(
    knowledge: ServerKnowledge, crafted: Sequence[CraftedNeuron], rng: Generator
) -> list[CraftedNeuron]:
    """The same neurons, with first layers that are quiet at the target and at other rows.

    Loud units make the honest neurons beside the chosen one large, and their logits: where one class exceeds
    all others by a hundred, softmax says exactly 0 and 1 in single precision, and the gradient of an active
    neuron is exactly zero. What leaves the first layer is divided by a power of two, and the weights of the
    chosen neuron are multiplied by it: its value is the same to the last bit.
    """
    apart = rng.spawn(1)[0]  # so that nothing else is drawn otherwise
    mechanism = knowledge.training.mechanism
    others = perturb(knowledge.rows[:N_REFERENCE_ROWS], 1, mechanism, apart)
    found = []
    for one, target in zip(crafted, knowledge.targets[:, None]):
        own = perturb(target, 8, mechanism, apart)
        found.append(one.with_smaller_units(_n_halvings(one, np.concatenate([own, others]))))
    return found


def _n_halvings(crafted: CraftedNeuron, rows: Floats) -> int:
    hidden = np.maximum(rows @ crafted.first.T + crafted.first_bias, 0).astype(np.float64)
    loudest = float(np.sqrt(np.mean(hidden**2, axis=1)).max())
    return int(np.ceil(np.log2(loudest / LARGEST_UNIT_RMS))) if loudest > LARGEST_UNIT_RMS else 0


SMALLEST_GRADIENT = float(np.nextafter(0, 1))  # any gradient that is not zero


@dataclass(frozen=True, eq=False)
class GradientNormScorer:
    """The norm of the gradient: exactly zero where no row of the batch made the neuron active."""

    networks: Sequence[PlantedNetwork]

    def __call__(self, view: FederatedView, rng: Generator) -> Reals:
        return np.array([[np.linalg.norm(one) for one in row] for row in view.train(self.networks)])


@dataclass(frozen=True, eq=False)
class MatchedFilterScorer:
    """How much of the target's own gradient is in the average of noisy ones, beyond half of what is due.

    The server knows the target, its label and the model, and so the clipped gradient that is looked for: the
    projection on it is what is left of the noise (a matched filter, the best there is under Gaussian noise
    if nobody else makes the neuron active).
    """

    networks: Sequence[PlantedNetwork]
    expected: Sequence[Reals]  # of a batch in which the target is, for every target
    unit: float  # the standard deviation of the noise on one number

    def __call__(self, view: FederatedView, rng: Generator) -> Reals:
        rows = view.train(self.networks)
        return np.array([[self._score(one, due) for one, due in zip(row, self.expected)] for row in rows])

    def _score(self, gradient: Reals, due: Reals) -> float:
        return float(np.sum((gradient - due / 2) * due)) / self.unit**2


def gradient_scorer(
    knowledge: ServerKnowledge, crafted: Sequence[CraftedNeuron], rng: Generator
) -> Scorer[FederatedView]:
    """Send what was crafted, and read the answers: exactly zero or not, or above the noise or not."""
    networks, training = knowledge.networks(crafted, rng), knowledge.training
    if training.noise is None:
        return Scorer(GradientNormScorer(networks), Reading(threshold=SMALLEST_GRADIENT))
    rows = training.batch * training.clients
    expected = [
        training.present
        / rows
        * clipped_neuron_gradient(network, target[None], label[None], training.noise.clip)
        for network, target, label in zip(networks, knowledge.targets, knowledge.target_labels)
    ]
    one = training.noise.multiplier * training.noise.clip / training.batch
    unit = one / np.sqrt(training.clients * training.iterations)
    return Scorer(MatchedFilterScorer(networks, expected, unit), Reading(threshold=0.0, signed=True))


def study_neurons(
    knowledge: ServerKnowledge,
    crafted: Sequence[CraftedNeuron],
    rng: Generator,
    *,
    certify: bool,
    more: Mapping[str, float] | None = None,
) -> Scorer[FederatedView]:
    """Send one neuron for each target; say how far they are from honest ones, and what is certain of them."""
    crafted = rescale_first_layers(knowledge, crafted, rng)
    scorer = gradient_scorer(knowledge, crafted, rng)
    numbers = {
        "units": sum(one.units for one in crafted) / len(crafted),
        **(more or {}),
        **mean_stealth(crafted, rng),
        **(certified_rates(knowledge, crafted, rng) if certify else {}),
    }
    return replace(scorer, reading=replace(scorer.reading, studied=numbers))
