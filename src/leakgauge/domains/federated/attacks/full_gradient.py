"""Make the target fill the clipping bound and all other rows vanish, and read the whole noisy gradient."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.domains.federated.attacks import likelihood_neuron
from leakgauge.domains.federated.clients.gradients import GradientNoise
from leakgauge.domains.federated.clients.whole_gradients import layer_flows
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons import gradient_scores, network, perturbed_rows, stealth
from leakgauge.domains.federated.release import ClientTraining, FederatedView
from leakgauge.strategies import gradient_clipping
from leakgauge.theory import gdp

GAIN = 32.0  # the target's gradient in units of the bound, and of what others leave in the last biases
DRAWS = 32  # of a perturbed target, for its direction
TINY = 1e-30  # norm below which a gradient is zero
ROWS = 256  # of the attacker's own, for the outputs that they usually have


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Against clipped gradients with Gaussian noise: a matched filter over all weights of the model.

    The likelihood neuron is planted where no other neuron is active, with outputs of the first layer so large
    that the target's gradient exceeds the bound. What is clipped is then the target's gradient alone, and
    the server reads the noisy answer in its direction, the biases of the last layer left out, which every
    row moves. If no other row activates the neuron, this is the best that can be done while all other rows
    vanish. A ``stealthy`` server keeps the norms and, besides the crafted layer and neuron, the very weights
    of an honest model in another order; less of the bound is then filled. ``units`` and ``draws`` are those
    of the likelihood neuron. Without noise on gradients the answer of the neuron itself is read.
    """

    accepts: ClassVar[tuple[str, ...]] = ("server",)

    stealthy: bool = False
    units: int | None = None
    draws: int = 1_000

    def __post_init__(self) -> None:
        if self.units is not None and not self.units >= 2:
            raise BadInput(f"units must be >= 2, which one feature takes, got {self.units}")
        if not self.draws >= 100:
            raise BadInput(f"draws must be >= 100, got {self.draws}")

    def study(self, knowledge: ServerKnowledge, rng: Generator) -> Scorer[FederatedView]:
        crafted = likelihood_neuron.Attack(units=self.units, draws=self.draws).craft(knowledge, rng)
        crafted = [self._scaled(knowledge, place, one, rng) for place, one in enumerate(crafted)]
        networks = [self._planted(knowledge, place, one, rng) for place, one in enumerate(crafted)]
        noise = knowledge.training.noise
        if noise is not None:
            networks = [aim(knowledge, place, one, noise, rng) for place, one in enumerate(networks)]
        scorer = gradient_scores.network_scorer(knowledge, networks, rng)
        numbers = {
            "units": sum(one.units for one in crafted) / len(crafted),
            **stealth.mean_stealth(crafted, rng),
            **predicted_numbers(knowledge.training, scorer.score),
        }
        return replace(scorer, reading=replace(scorer.reading, studied=numbers))

    def _scaled(
        self, knowledge: ServerKnowledge, place: int, crafted: network.CraftedNeuron, rng: Generator
    ) -> network.CraftedNeuron:
        """Return the neuron with outputs of the first layer that make the target's gradient large enough."""
        if self.stealthy:
            return crafted.with_honest_norms()
        noise, training = knowledge.training.noise, knowledge.training
        bound = 1.0 if noise is None else max(noise.clip, 1.0)
        rows = training.batch if noise is not None and noise.clipped == "update" else 1
        own = perturbed_rows.perturb(knowledge.targets[[place]], DRAWS, training.mechanism, rng)
        outputs = np.maximum(own @ crafted.first.T + crafted.first_bias, 0)
        size = float(np.median(np.linalg.norm(outputs, axis=1)))
        doublings = int(np.ceil(np.log2(2 * GAIN * rows * bound / size))) if size > 0 else 0
        return crafted.with_smaller_units(-doublings)

    def _planted(
        self, knowledge: ServerKnowledge, place: int, crafted: network.CraftedNeuron, rng: Generator
    ) -> network.PlantedNetwork:
        label, shape = int(knowledge.target_labels[place]), knowledge.shape
        if not self.stealthy:
            return network.plant_isolated_neuron(crafted, label, shape)
        rows = perturbed_rows.perturb(knowledge.rows[:ROWS], 1, knowledge.training.mechanism, rng)
        return network.plant_among_reordered(crafted, label, rows, shape, rng)


def aim(
    knowledge: ServerKnowledge,
    place: int,
    planted: network.PlantedNetwork,
    noise: GradientNoise,
    rng: Generator,
) -> network.PlantedNetwork:
    """Return the network with a direction to read: that of the target's clipped gradient, on average.

    The biases of the last layer are left out: all rows of a batch move them.
    """
    own = perturbed_rows.perturb(knowledge.targets[[place]], DRAWS, knowledge.training.mechanism, rng)
    flows = layer_flows(planted, own, np.full(len(own), knowledge.target_labels[place]))
    norms = gradient_clipping.gradient_norms((layer.inputs, layer.flows) for layer in flows)
    weights = gradient_clipping.clip_factors(norms, noise.clip)[:, None]
    first, second, head = ((weights * layer.flows, layer.inputs) for layer in flows)
    parts = [(flow.T @ inputs, flow.sum(axis=0)) for flow, inputs in (first, second, head)]
    parts[-1][1][:] = 0
    norm = np.float32(max(np.sqrt(sum(float(np.sum(part**2)) for one in parts for part in one)), TINY))
    one, two, three = (
        ((matrix / norm).astype(np.float32), (biases / norm).astype(np.float32)) for matrix, biases in parts
    )
    return replace(planted, direction=(one, two, three))


def predicted_numbers(training: ClientTraining, scores: Any) -> dict[str, float]:
    """Return how much of the bound targets fill, what accuracy follows, and what it is at most.

    The first two accuracies hold if a member is in every batch, and no other row activates the neuron. The
    ceiling holds for every attacker: a row, or a client, that replaces another changes the sum by at most
    twice the bound.
    """
    noise = training.noise
    if noise is None:
        return {}
    separation = noise.separation(training.iterations, training.clients)
    shares = scores.separations / (training.present * separation)
    return {
        "filled_share": float(np.mean(shares)),
        "predicted_accuracy": float(np.mean([gdp.max_accuracy(share * separation) for share in shares])),
        "channel_optimum": gdp.max_accuracy(separation),
        "channel_ceiling": gdp.max_accuracy(2 * separation),
    }
