"""Train a neuron to be active for the target alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons.gradient_scores import study_neurons
from leakgauge.domains.federated.neurons.neuron_training import (
    NeuronTrainer,
    NeuronTrainingOptions,
    TrainedNeuron,
)
from leakgauge.domains.federated.release import FederatedView
from leakgauge.support.parallel import parallel_map

EPOCHS, BATCH = 6, 250  # where rows are perturbed
MOST_EPOCHS = 2_000  # where they are not


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A network with one hidden layer that tells the target from rows of the attacker's own (eq. 5 to 7).

    Where clients perturb their rows, every epoch sees ``positives`` new perturbations of the target and one
    of each other row; 6 epochs in steps of 250 rows, unless said otherwise. Where they do not, a step is on
    all rows, the target counts ``weight`` times as much as all others together (5 in what was published for
    CIFAR-10), and training ends when it is told from all of them; ``epochs`` is only a limit then. Which
    epoch is kept, and the final bias, follow from the attacker's own rows, a quarter of which are held back.
    Nguyen et al. (2023) choose them by rows of clients, and never draw new noise; theirs is a softmax of
    sigmoids. ``certify`` adds what fresh draws prove of the neurons before any round.
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
        neurons = [one.neuron for one in trained]
        return study_neurons(knowledge, neurons, rng, certify=self.certify, more=_epochs(trained))

    def train(self, knowledge: ServerKnowledge, rng: Generator) -> list[TrainedNeuron]:
        """Train the neuron of each target."""
        teacher = NeuronTrainer.of(
            knowledge, self.course(noisy=knowledge.training.mechanism is not None), rng
        )
        seeds = rng.integers(2**63, size=len(knowledge.targets)).tolist()
        return parallel_map(teacher, list(enumerate(seeds)))

    def course(self, *, noisy: bool) -> NeuronTrainingOptions:
        """What this means for clients who perturb their rows, and for those who do not."""
        return NeuronTrainingOptions(
            neurons=self.neurons,
            epochs=self.epochs or (EPOCHS if noisy else MOST_EPOCHS),
            batch=self.batch or (BATCH if noisy else None),
            rate=self.rate,
            positives=self.positives,
            weight=self.weight,
        )


def _epochs(trained: Sequence[TrainedNeuron]) -> dict[str, float]:
    """Epochs, over targets: until a neuron was taken, and until some bias would have told all rows seen."""
    epochs = [one.epochs for one in trained]
    on_top = [one.on_top for one in trained if one.on_top is not None]
    found = {
        "epochs_mean": float(np.mean(epochs)),
        "epochs_most": float(max(epochs)),
        "separated": float(np.mean([one.separated for one in trained])),
    }
    return found | ({"epochs_on_top_mean": float(np.mean(on_top))} if len(on_top) == len(trained) else {})
