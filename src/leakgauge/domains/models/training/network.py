"""A classifier of linear layers with ReLU in between: the model that is released."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.strategies.clipping import Floats

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """The sizes of a network: features in, hidden units, classes out."""

    features: int
    classes: int
    hidden: tuple[int, ...] = (256, 256)

    def __post_init__(self) -> None:
        if not self.features >= 1:
            raise BadInput(f"a network needs features to look at, got {self.features}")
        if not self.classes >= 2:
            raise BadInput(f"a network needs two classes or more to tell apart, got {self.classes}")
        if not all(units >= 1 for units in self.hidden):
            raise BadInput(f"hidden layers need one unit or more each, got {list(self.hidden)}")

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each linear layer."""
        sizes = (self.features, *self.hidden, self.classes)
        return list(pairwise(sizes))

    @property
    def n_weights(self) -> int:
        """Biases included."""
        return sum((inputs + 1) * outputs for inputs, outputs in self.layers)


@dataclass(frozen=True, eq=False)
class Network:
    """All weights in one vector: for each layer a matrix, outputs x inputs, then its biases."""

    shape: Shape
    weights: Floats

    def __post_init__(self) -> None:
        if self.weights.shape != (self.shape.n_weights,):
            raise BadInput(f"{self.shape} has {self.shape.n_weights} weights, got {self.weights.size}")

    @property
    def layers(self) -> list[tuple[Floats, Floats]]:
        """Matrix and biases of each layer: views into the vector."""
        return layers(self.shape, self.weights)

    def logits(self, rows: Floats) -> Floats:
        """Rows x classes, before the softmax."""
        *hidden, (matrix, biases) = self.layers
        for weights, bias in hidden:
            rows = np.maximum(rows @ weights.T + bias, 0)
        return rows @ matrix.T + biases

    def log_probabilities(self, rows: Floats) -> Reals:
        """Rows x classes: the logarithm of the softmax, in double precision."""
        logits = self.logits(rows).astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def losses(self, rows: Floats, labels: Ints) -> Reals:
        """The cross-entropy of each row; never infinite."""
        return -np.take_along_axis(self.log_probabilities(rows), labels[:, None], axis=1)[:, 0]

    def accuracy(self, rows: Floats, labels: Ints) -> float:
        """The share of rows whose likeliest class is the right one; the first one wins a tie."""
        return float(np.mean(self.logits(rows).argmax(axis=1) == labels))


def layers(shape: Shape, weights: Floats) -> list[tuple[Floats, Floats]]:
    """Cut a vector into matrix and biases of each layer; the parts are views."""
    parts, start = [], 0
    for inputs, outputs in shape.layers:
        middle, end = start + outputs * inputs, start + outputs * (inputs + 1)
        parts.append((weights[start:middle].reshape(outputs, inputs), weights[middle:end]))
        start = end
    return parts


def glorot(shape: Shape, rng: Generator) -> Network:
    """A network before training: uniform within sqrt(6 / (inputs + outputs)), biases 0.

    (Glorot and Bengio 2010, eq. 16.)
    """
    weights = np.zeros(shape.n_weights, dtype=np.float32)
    for (inputs, outputs), (matrix, _) in zip(shape.layers, layers(shape, weights)):
        reach = np.sqrt(6 / (inputs + outputs))
        matrix[:] = rng.uniform(-reach, reach, matrix.shape)
    return Network(shape, weights)
