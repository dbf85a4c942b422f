"""Rows of any size, and the same neuron in a network whose softmax can still be in doubt."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from leakgauge.domains.federated.knowledge import Server
from leakgauge.domains.federated.model import Crafted, Floats
from leakgauge.domains.federated.samples import perturbed

LOUD = 64.0  # root mean square over units; logits of the honest layers are about a quarter of it
OTHERS = 32  # rows of the adversary that are looked at


def calmed(knowledge: Server, crafted: Sequence[Crafted], rng: Generator) -> list[Crafted]:
    """The same neurons, with first layers that are quiet at the target and at other rows.

    Loud units make the honest neurons beside the chosen one large, and their logits: where one class exceeds
    all others by a hundred, softmax says exactly 0 and 1 in single precision, and the gradient of an active
    neuron is exactly zero. What leaves the first layer is divided by a power of two, and the weights of the
    chosen neuron are multiplied by it: its value is the same to the last bit.
    """
    apart = rng.spawn(1)[0]  # so that nothing else is drawn otherwise
    mechanism = knowledge.training.mechanism
    others = perturbed(knowledge.rows[:OTHERS], 1, mechanism, apart)
    found = []
    for one, target in zip(crafted, knowledge.targets[:, None]):
        own = perturbed(target, 8, mechanism, apart)
        found.append(one.quieter(_halvings(one, np.concatenate([own, others]))))
    return found


def _halvings(crafted: Crafted, rows: Floats) -> int:
    hidden = np.maximum(rows @ crafted.first.T + crafted.first_bias, 0).astype(np.float64)
    loudest = float(np.sqrt(np.mean(hidden**2, axis=1)).max())
    return int(np.ceil(np.log2(loudest / LOUD))) if loudest > LOUD else 0
