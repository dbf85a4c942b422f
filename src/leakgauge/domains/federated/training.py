"""The training of a first layer and a chosen neuron, in torch."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits
from leakgauge.domains.federated.model import Crafted, Floats, honest


@dataclass(frozen=True, eq=False)
class Lesson:
    """The rows of one epoch, in order, and where the neuron is to be active."""

    rows: Floats
    active: Bits
    weight: float = 1.0  # of a row that is to be active, in the loss; that of another row is 1


def untrained(neurons: int, features: int, rng: Generator) -> Crafted:
    """A neuron before its first epoch: as PyTorch initialises two linear layers."""
    first, (second, bias) = honest(features, neurons, rng), honest(neurons, 1, rng)
    return Crafted(*first, second[0], float(bias[0]))


def learn(neuron: Crafted, lessons: Iterable[Lesson], *, batch: int | None, rate: float) -> Iterator[Crafted]:
    """The neuron after each lesson: Adam (Kingma and Ba 2015) on the cross-entropy of sigmoid(value).

    That is eq. 6 of Nguyen et al. with biases. A step is on ``batch`` rows, or on the whole lesson. Nothing
    random happens here: where a neuron starts and the order of rows are given.
    """
    import torch

    given = (neuron.first, neuron.first_bias, neuron.second, np.array([neuron.bias], dtype=np.float32))
    parts = [torch.from_numpy(part.copy()).requires_grad_() for part in given]
    first, first_bias, second, bias = parts
    adam = torch.optim.Adam(parts, lr=rate)
    for lesson in lessons:
        rows, active = torch.from_numpy(lesson.rows), torch.from_numpy(lesson.active.astype(np.float32))
        weight = torch.tensor(lesson.weight)
        size = batch or len(rows)
        for some, wanted in zip(rows.split(size), active.split(size)):
            hidden = torch.relu(torch.nn.functional.linear(some, first, first_bias))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                hidden @ second + bias, wanted, pos_weight=weight
            )
            adam.zero_grad()
            loss.backward()
            adam.step()
        now = [part.detach().numpy().copy() for part in parts]
        yield Crafted(now[0], now[1], now[2], float(now[3][0]))
