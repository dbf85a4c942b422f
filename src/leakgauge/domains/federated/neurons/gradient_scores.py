"""Turn crafted neurons into a scorer of the gradients that clients send back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.federated.certificates import certified_rates
from leakgauge.domains.federated.clients.gradients import GradientNoise
from leakgauge.domains.federated.clients.whole_gradients import clipped_answer
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons import perturbed_rows, stealth
from leakgauge.domains.federated.neurons.network import CraftedNeuron, Floats, PlantedNetwork
from leakgauge.domains.federated.release import FederatedView

LARGEST_UNIT_RMS = 64.0  # root mean square over units; logits of the honest layers are about a quarter of it
N_REFERENCE_ROWS = 32  # of the attacker's rows that are examined
N_BATCHES = 32  # of the attacker's rows, to simulate updates
N_OWN_DRAWS = 32  # of a perturbed target
SMALLEST_GRADIENT = float(np.nextafter(0, 1))  # any gradient that is not zero


def rescale_first_layers(
    knowledge: ServerKnowledge, crafted: Sequence[CraftedNeuron], rng: Generator
) -> list[CraftedNeuron]:
    """Return the same neurons with first layers whose outputs are small at the target and at other rows.

    Large outputs make the other neurons and the logits large. If one logit exceeds all others by a hundred,
    softmax is exactly 0 or 1 in single precision, and the gradient of an active neuron is exactly zero. The
    outputs of the first layer are therefore divided by a power of two, and the weights of the chosen neuron
    multiplied by it, which leaves its value the same to the last bit.
    """
    own_rng = rng.spawn(1)[0]  # leaves the draws of rng itself unchanged
    mechanism = knowledge.training.mechanism
    others = perturbed_rows.perturb(knowledge.rows[:N_REFERENCE_ROWS], 1, mechanism, own_rng)
    rescaled = []
    for neuron, target in zip(crafted, knowledge.targets[:, None]):
        own = perturbed_rows.perturb(target, 8, mechanism, own_rng)
        rescaled.append(neuron.with_smaller_units(_n_halvings(neuron, np.concatenate([own, others]))))
    return rescaled


def _n_halvings(crafted: CraftedNeuron, rows: Floats) -> int:
    hidden = np.maximum(rows @ crafted.first.T + crafted.first_bias, 0).astype(np.float64)
    largest = float(np.sqrt(np.mean(hidden**2, axis=1)).max())
    return int(np.ceil(np.log2(largest / LARGEST_UNIT_RMS))) if largest > LARGEST_UNIT_RMS else 0


@dataclass(frozen=True, eq=False)
class GradientNormScorer:
    """Scores by the norm of the gradient, which is exactly zero if no row activates the neuron."""

    networks: Sequence[PlantedNetwork]

    def __call__(self, view: FederatedView, rng: Generator) -> Reals:
        return np.array([[np.linalg.norm(one) for one in row] for row in view.train(self.networks)])


@dataclass(frozen=True, eq=False)
class ExpectedAnswer:
    """The average answer of clients without the target, and how the target changes it."""

    without: Reals
    change: Reals


def expected_answer(
    knowledge: ServerKnowledge, place: int, network: PlantedNetwork, noise: GradientNoise, rng: Generator
) -> ExpectedAnswer:
    """Return the answer to expect, without noise on gradients.

    Where every example is clipped, the target adds its own clipped gradient, and others are expected to add
    nothing. Where a whole update is clipped, the answer depends on all rows: batches of the attacker's own
    rows are simulated, with the target and without it.
    """
    training, label = knowledge.training, knowledge.target_labels[[place]]
    own = perturbed_rows.perturb(knowledge.targets[[place]], N_OWN_DRAWS, training.mechanism, rng)
    if noise.clipped == "example":
        each = [clipped_answer(network, row, label, noise) for row in own[:, None]]
        share = training.present / (training.batch * training.clients)
        change = share * np.mean(each, axis=0)
        return ExpectedAnswer(np.zeros_like(change), change)
    answers: list[tuple[Reals, Reals]] = []
    for _ in range(N_BATCHES):
        drawn = rng.choice(len(knowledge.rows), training.batch, replace=len(knowledge.rows) < training.batch)
        rows = perturbed_rows.perturb(knowledge.rows[drawn], 1, training.mechanism, rng)
        labels = knowledge.labels[drawn]
        without = clipped_answer(network, rows, labels, noise)
        rows, labels = rows.copy(), labels.copy()
        rows[0], labels[0] = own[rng.integers(len(own))], label[0]
        answers.append((without, clipped_answer(network, rows, labels, noise)))
    before, after = np.mean(answers, axis=0)
    return ExpectedAnswer(before, training.present / training.clients * (after - before))


@dataclass(frozen=True, eq=False)
class MatchedFilterScorer:
    """Scores by the projection of the noisy average gradient on the change expected of the target.

    The server knows the target, its label and the model, and so the clipped gradient to look for. The score
    is the log-likelihood ratio (a matched filter), optimal under Gaussian noise if other rows answer as
    expected.
    """

    networks: Sequence[PlantedNetwork]
    expected: Sequence[ExpectedAnswer]
    unit: float  # the standard deviation of the noise on each entry

    def __call__(self, view: FederatedView, rng: Generator) -> Reals:
        rows = view.train(self.networks)
        return np.array(
            [[self._score(one, expected) for one, expected in zip(row, self.expected)] for row in rows]
        )

    @property
    def separations(self) -> Reals:
        """How far each target moves the answer, in standard deviations of the noise."""
        return np.array([np.linalg.norm(one.change) for one in self.expected]) / self.unit

    def _score(self, gradient: Reals, expected: ExpectedAnswer) -> float:
        middle = expected.without + expected.change / 2
        return float(np.sum((gradient - middle) * expected.change)) / self.unit**2


def gradient_scorer(
    knowledge: ServerKnowledge, crafted: Sequence[CraftedNeuron], rng: Generator
) -> Scorer[FederatedView]:
    """Return a scorer that sends the crafted neurons and scores the answering gradients."""
    return network_scorer(knowledge, knowledge.networks(crafted, rng), rng)


def network_scorer(
    knowledge: ServerKnowledge, networks: Sequence[PlantedNetwork], rng: Generator
) -> Scorer[FederatedView]:
    """Return a scorer that sends one network for each target."""
    training = knowledge.training
    if training.noise is None:
        return Scorer(GradientNormScorer(networks), Reading(threshold=SMALLEST_GRADIENT))
    expected = [
        expected_answer(knowledge, place, network, training.noise, rng)
        for place, network in enumerate(networks)
    ]
    noises = training.clients if training.noise.added == "client" else training.clients**2
    unit = training.noise.deviation(training.batch) / np.sqrt(noises * training.iterations)
    return Scorer(MatchedFilterScorer(networks, expected, unit), Reading(threshold=0.0, signed=True))


def study_neurons(
    knowledge: ServerKnowledge,
    crafted: Sequence[CraftedNeuron],
    rng: Generator,
    *,
    certify: bool,
    more: Mapping[str, float] | None = None,
) -> Scorer[FederatedView]:
    """Return a scorer with one neuron per target, and the numbers on stealth and certificates."""
    crafted = rescale_first_layers(knowledge, crafted, rng)
    scorer = gradient_scorer(knowledge, crafted, rng)
    numbers = {
        "units": sum(neuron.units for neuron in crafted) / len(crafted),
        **(more or {}),
        **stealth.mean_stealth(crafted, rng),
        **(certified_rates(knowledge, crafted, rng) if certify else {}),
    }
    return replace(scorer, reading=replace(scorer.reading, studied=numbers))
