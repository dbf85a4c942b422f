"""A multilayer perceptron: its log-probabilities, and its sum of gradients over a batch, clipped or not."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.strategies import gradient_clipping


@dataclass(frozen=True)
class MlpShape:
    """The sizes of a network: features in, hidden units, classes out."""

    features: int
    classes: int
    hidden: tuple[int, ...] = (256, 256)

    def __post_init__(self) -> None:
        if not self.features >= 1:
            raise BadInput(f"a network needs at least one feature, got {self.features}")
        if not self.classes >= 2:
            raise BadInput(f"a network needs at least two classes, got {self.classes}")
        if not all(units >= 1 for units in self.hidden):
            raise BadInput(f"hidden layers need at least one unit each, got {list(self.hidden)}")

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each linear layer."""
        sizes = (self.features, *self.hidden, self.classes)
        return list(pairwise(sizes))

    @property
    def n_weights(self) -> int:
        """The number of weights, biases included."""
        return sum((inputs + 1) * outputs for inputs, outputs in self.layers)


@dataclass(frozen=True, eq=False)
class MlpClassifier:
    """All weights in one vector: for each layer a matrix, outputs x inputs, then its biases."""

    shape: MlpShape
    weights: gradient_clipping.Floats

    def __post_init__(self) -> None:
        if self.weights.shape != (self.shape.n_weights,):
            raise BadInput(f"{self.shape} has {self.shape.n_weights} weights, got {self.weights.size}")

    @property
    def layers(self) -> list[tuple[gradient_clipping.Floats, gradient_clipping.Floats]]:
        """Matrix and biases of each layer: views into the vector."""
        return layers(self.shape, self.weights)

    def logits(self, rows: gradient_clipping.Floats) -> gradient_clipping.Floats:
        """Rows x classes, before the softmax."""
        *hidden, (matrix, biases) = self.layers
        for weights, bias in hidden:
            rows = np.maximum(rows @ weights.T + bias, 0)
        return rows @ matrix.T + biases

    def log_probabilities(self, rows: gradient_clipping.Floats) -> Reals:
        """Rows x classes: the logarithm of the softmax, in double precision."""
        logits = self.logits(rows).astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def losses(self, rows: gradient_clipping.Floats, labels: Ints) -> Reals:
        """The cross-entropy of each row; never infinite."""
        return -np.take_along_axis(self.log_probabilities(rows), labels[:, None], axis=1)[:, 0]

    def accuracy(self, rows: gradient_clipping.Floats, labels: Ints) -> float:
        """The share of rows whose most probable class is the right one; the first class wins a tie."""
        return float(np.mean(self.logits(rows).argmax(axis=1) == labels))


def layers(
    shape: MlpShape, weights: gradient_clipping.Floats
) -> list[tuple[gradient_clipping.Floats, gradient_clipping.Floats]]:
    """Cut a vector into matrix and biases of each layer; the parts are views."""
    parts, start = [], 0
    for inputs, outputs in shape.layers:
        middle, end = start + outputs * inputs, start + outputs * (inputs + 1)
        parts.append((weights[start:middle].reshape(outputs, inputs), weights[middle:end]))
        start = end
    return parts


def glorot_network(shape: MlpShape, rng: Generator) -> MlpClassifier:
    """A network before training: uniform within sqrt(6 / (inputs + outputs)), biases 0.

    (Glorot and Bengio 2010, eq. 16.)
    """
    weights = np.zeros(shape.n_weights, dtype=np.float32)
    for (inputs, outputs), (matrix, _) in zip(shape.layers, layers(shape, weights)):
        reach = np.sqrt(6 / (inputs + outputs))
        matrix[:] = rng.uniform(-reach, reach, matrix.shape)
    return MlpClassifier(shape, weights)


def forward_backward(
    network: MlpClassifier, rows: gradient_clipping.Floats, labels: Ints
) -> list[tuple[gradient_clipping.Floats, gradient_clipping.Floats]]:
    """For each layer its input and the gradient at its output, one row for each example (cross-entropy)."""
    *hidden, (matrix, biases) = network.layers
    given = [rows]
    for weights, bias in hidden:
        values = given[-1] @ weights.T
        values += bias
        given.append(np.maximum(values, 0, out=values))
    flow = _softmax(given[-1] @ matrix.T + biases)
    flow[np.arange(len(labels)), labels] -= 1
    flows = [flow]
    for (weights, _), active in zip(reversed(network.layers[1:]), reversed(given)):
        flow = flow @ weights
        flow *= active > 0
        flows.append(flow)
    return list(zip(given, reversed(flows)))


def clipped_gradient_sum(
    network: MlpClassifier, rows: gradient_clipping.Floats, labels: Ints, clip: float
) -> gradient_clipping.Floats:
    """The gradients of the rows, each clipped to a norm of ``clip``, added up (Abadi et al. 2016).

    In the order of the network's weights. No example's gradient is stored: see
    ``strategies.gradient_clipping``.
    """
    layered = forward_backward(network, rows, labels)
    scale = gradient_clipping.clip_factors(gradient_clipping.gradient_norms(layered), clip)[:, None]
    return _sum_gradients(network, [(given, flow * scale) for given, flow in layered])


def gradient_sum(
    network: MlpClassifier, rows: gradient_clipping.Floats, labels: Ints
) -> gradient_clipping.Floats:
    """The sum of the rows' gradients, not clipped."""
    return _sum_gradients(network, forward_backward(network, rows, labels))


def _sum_gradients(
    network: MlpClassifier, layered: list[tuple[gradient_clipping.Floats, gradient_clipping.Floats]]
) -> gradient_clipping.Floats:
    total = np.empty_like(network.weights)
    for (matrix, biases), (given, flow) in zip(layers(network.shape, total), layered):
        np.matmul(flow.T, given, out=matrix)
        flow.sum(axis=0, out=biases)
    return total


def _softmax(logits: gradient_clipping.Floats) -> gradient_clipping.Floats:
    logits -= logits.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits
