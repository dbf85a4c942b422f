"""Train a neuron to be active for the target alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons import neuron_training
from leakgauge.domains.federated.neurons.gradient_scores import study_neurons
from leakgauge.domains.federated.release import FederatedView
from leakgauge.support.parallel import parallel_map

EPOCHS, BATCH = 6, 250  # if rows are perturbed
MOST_EPOCHS = 2_000  # if they are not


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A network with one hidden layer that separates the target from the attacker's own rows (eq. 5 to 7).

    If clients perturb their rows, every epoch has ``positives`` new perturbations of the target and one of
    each other row; the default is 6 epochs in steps of 250 rows. If they do not, a step is on all rows, the
    target has ``weight`` times the weight of all others together (5 in the published experiments on
    CIFAR-10), and training ends when it is separated from all of them; ``epochs`` is then only a limit. The
    epoch that is kept and the final bias are chosen on the attacker's own rows, a quarter of which are held
    back. Nguyen et al. (2023) choose them on rows of clients, do not draw new noise, and use a softmax of
    sigmoids. ``certify`` adds bounds that new draws of the noise prove for the neurons before any round.
    """

    accepts: ClassVar[tuple[str, ...]] = ("server",)

    neurons: int = 1_000  # r, of the first layer
    epochs: int | None = None
    positives: int = 2_000
    batch: int | None = None
    rate: float = 1e-4
    weight: float = 1.0
    certify: bool = False

    def __post_init__(self) -> None:
        for name in ("neurons", "epochs", "positives", "batch"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise BadInput(f"{name} must be >= 1, got {value}")
        for name in ("rate", "weight"):
            if not 0 < getattr(self, name) < np.inf:
                raise BadInput(f"{name} must be > 0 and finite, got {getattr(self, name)}")

    def study(self, knowledge: ServerKnowledge, rng: Generator) -> Scorer[FederatedView]:
        trained = self.train(knowledge, rng)
        neurons = [neuron.neuron for neuron in trained]
        return study_neurons(knowledge, neurons, rng, certify=self.certify, more=_epochs(trained))

    def train(self, knowledge: ServerKnowledge, rng: Generator) -> list[neuron_training.TrainedNeuron]:
        """Train the neuron of each target."""
        trainer = neuron_training.NeuronTrainer.of(
            knowledge, self.options(noisy=knowledge.training.mechanism is not None), rng
        )
        seeds = rng.integers(2**63, size=len(knowledge.targets)).tolist()
        return parallel_map(trainer, list(enumerate(seeds)))

    def options(self, *, noisy: bool) -> neuron_training.NeuronTrainingOptions:
        """Return the training options, with defaults for clients that perturb their rows or do not."""
        return neuron_training.NeuronTrainingOptions(
            neurons=self.neurons,
            epochs=self.epochs or (EPOCHS if noisy else MOST_EPOCHS),
            batch=self.batch or (BATCH if noisy else None),
            rate=self.rate,
            positives=self.positives,
            weight=self.weight,
        )


def _epochs(trained: Sequence[neuron_training.TrainedNeuron]) -> dict[str, float]:
    """Summarise over targets the epochs until a neuron was kept, and until some bias separated the target."""
    epochs = [neuron.epochs for neuron in trained]
    on_top = [neuron.on_top for neuron in trained if neuron.on_top is not None]
    summary = {
        "epochs_mean": float(np.mean(epochs)),
        "epochs_most": float(max(epochs)),
        "separated": float(np.mean([neuron.separated for neuron in trained])),
    }
    return summary | ({"epochs_on_top_mean": float(np.mean(on_top))} if len(on_top) == len(trained) else {})
