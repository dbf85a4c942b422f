"""The network that the server sends: honest weights except a planted first layer and a few neurons."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

Floats: TypeAlias = npt.NDArray[np.float32]
Layer: TypeAlias = tuple[Floats, Floats]  # weights (outputs x inputs) and biases
TARGET_TO_OTHERS = 4.0  # largest value of a target, if other rows have a standard deviation of 1


@dataclass(frozen=True, eq=False)
class CraftedNeuron:
    """A first layer, and a neuron of the second layer that should be active for one target alone.

    Its value at a row x is second . ReLU(first x + first_bias) + bias (Nguyen et al., eq. 5, with biases).
    """

    first: Floats  # units x features
    first_bias: Floats
    second: Floats  # one weight for each unit
    bias: float

    def __post_init__(self) -> None:
        units = self.first.shape[0]
        if not (self.first_bias.shape == self.second.shape == (units,)) or units == 0:
            raise BadInput(
                f"a crafted layer needs as many biases and weights as units: {units} units, "
                f"{self.first_bias.size} biases, {self.second.size} weights"
            )

    @property
    def units(self) -> int:
        return self.first.shape[0]

    def values(self, rows: Floats) -> Reals:
        """Return the value of the chosen neuron at each row; it is active above zero."""
        hidden = np.maximum(rows @ self.first.T + self.first_bias, 0)
        with np.errstate(invalid="ignore"):  # some BLAS kernels set that flag though all values are finite
            return (hidden @ self.second).astype(np.float64) + self.bias

    def scaled(self, factor: float) -> "CraftedNeuron":
        """Return the neuron with its values times a positive factor; it is active for the same rows."""
        return CraftedNeuron(
            self.first, self.first_bias, np.float32(factor) * self.second, factor * self.bias
        )

    def with_smaller_units(self, halvings: int) -> "CraftedNeuron":
        """Return the neuron with the outputs of its units halved so often, and exactly the same value."""
        if halvings == 0:
            return self
        less, more = np.float32(2.0**-halvings), np.float32(2.0**halvings)
        return CraftedNeuron(less * self.first, less * self.first_bias, more * self.second, self.bias)

    def with_honest_norms(self) -> "CraftedNeuron":
        """Return the neuron, active for the same rows, with layers whose norms are those of honest ones."""
        units, features = self.first.shape
        first = np.sqrt(units * (features + 1) / (3 * features)) / np.hypot(
            np.linalg.norm(self.first), np.linalg.norm(self.first_bias)
        )
        rescaled = CraftedNeuron(
            np.float32(first) * self.first,
            np.float32(first) * self.first_bias,
            np.float32(1 / first) * self.second,
            self.bias,
        )
        norm = np.hypot(np.linalg.norm(rescaled.second), rescaled.bias)
        return rescaled.scaled(float(np.sqrt((units + 1) / (3 * units)) / norm))

    def normalised(self, own: Reals, others: Reals) -> "CraftedNeuron":
        """Return the neuron scaled to small values, given its values at the target and at other rows.

        Large values would make the softmax after the next layers exactly 0 or 1, and the gradient of an
        active neuron exactly zero.
        """
        size = max(float(np.std(others)), float(np.abs(own).max()) / TARGET_TO_OTHERS)
        return self.scaled(1 / size) if size > 0 else self


@dataclass(frozen=True, kw_only=True)
class PlantedNetworkShape:
    """The parts of the network that the server leaves honest."""

    classes: int
    neurons: int = 64  # of the second layer, including the chosen ones
    chosen: int = 1  # copies of the crafted neuron

    def __post_init__(self) -> None:
        if not 1 <= self.chosen <= self.neurons:
            raise BadInput(f"chosen must be in 1..{self.neurons} (neurons), got {self.chosen}")


@dataclass(frozen=True, eq=False)
class SelectedFeatures:
    """A first layer in which every unit uses one feature: columns are selected instead of multiplied."""

    features: npt.NDArray[np.intp]  # one for each unit
    slopes: Floats | None  # none if all are 1
    biases: Floats

    def __call__(self, rows: Floats) -> Floats:
        """Return the outputs of the units, after the ReLU, in a new array."""
        outputs = rows.take(self.features, axis=1)
        if self.slopes is not None:
            outputs *= self.slopes
        outputs += self.biases
        return np.maximum(outputs, 0, out=outputs)


def selected_features(first: Layer) -> SelectedFeatures | None:
    """Return the layer as a selection of features, if no unit uses more than one."""
    weights, biases = first
    used = weights != 0
    if not (used.sum(axis=1) <= 1).all():
        return None
    features = used.argmax(axis=1)
    slopes = weights[np.arange(len(weights)), features]
    return SelectedFeatures(features, None if (slopes == 1).all() else slopes, biases)


@dataclass(frozen=True, eq=False)
class PlantedNetwork:
    """Three linear layers with ReLU in between; the first ``chosen`` neurons of the second are planted.

    A server may read only the ``direction`` of the whole gradient that interests it: one array for the
    weights and one for the biases of each layer.
    """

    first: Layer
    second: Layer
    head: Layer
    chosen: int
    direction: tuple[Layer, Layer, Layer] | None = None

    @property
    def layers(self) -> tuple[Layer, Layer, Layer]:
        return self.first, self.second, self.head

    @cached_property
    def direction_norm(self) -> float:
        """The norm of the direction that the server reads; 1 if it reads single weights."""
        if self.direction is None:
            return 1.0
        return float(
            np.sqrt(sum(np.sum(part.astype(np.float64) ** 2) for one in self.direction for part in one))
        )

    def hidden(self, rows: Floats) -> Floats:
        """Return the outputs of the first layer, after the ReLU."""
        if self._selection is not None:
            return self._selection(rows)
        outputs = rows @ self.first[0].T
        outputs += self.first[1]
        return np.maximum(outputs, 0, out=outputs)

    @cached_property
    def _selection(self) -> SelectedFeatures | None:
        return selected_features(self.first)


def plant_neuron(crafted: CraftedNeuron, shape: PlantedNetworkShape, rng: Generator) -> PlantedNetwork:
    """Return a network with the crafted weights, and all others drawn as an honest server would."""
    weights, biases = honest_layer(crafted.units, shape.neurons, rng)
    weights[: shape.chosen], biases[: shape.chosen] = crafted.second, crafted.bias
    head = honest_layer(shape.neurons, shape.classes, rng)
    return PlantedNetwork((crafted.first, crafted.first_bias), (weights, biases), head, shape.chosen)


def plant_isolated_neuron(crafted: CraftedNeuron, label: int, shape: PlantedNetworkShape) -> PlantedNetwork:
    """Return a network in which no other neuron is ever active, so that only the target has a gradient.

    Of all other rows only the biases of the last layer have one. Behind the chosen neurons stands a weight of
    -1 for the target's own label, which a step of training would raise: the loss is then steepest.
    """
    weights = np.zeros((shape.neurons, crafted.units), dtype=np.float32)
    biases = np.full(shape.neurons, -1, dtype=np.float32)
    weights[: shape.chosen], biases[: shape.chosen] = crafted.second, crafted.bias
    head = np.zeros((shape.classes, shape.neurons), dtype=np.float32)
    head[label, : shape.chosen] = -1
    no_bias = np.zeros(shape.classes, dtype=np.float32)
    return PlantedNetwork(
        (crafted.first, crafted.first_bias), (weights, biases), (head, no_bias), shape.chosen
    )


def plant_among_reordered(
    crafted: CraftedNeuron, label: int, rows: Floats, shape: PlantedNetworkShape, rng: Generator
) -> PlantedNetwork:
    """Return a network with honest weights besides the crafted ones, only in another order.

    Every other neuron has its most negative weights where ``rows`` have the largest outputs, so that it is
    active for none of them; behind the chosen neurons stand the weights that the target's label moves most.
    No histogram of the weights shows a difference.
    """
    honest = plant_neuron(crafted, shape, rng)
    (weights, biases), (head, head_bias) = honest.second, honest.head
    by_output = np.argsort(honest.hidden(rows).mean(axis=0))
    weights[shape.chosen :, by_output] = -np.sort(-weights[shape.chosen :], axis=1)
    chances = np.exp(head_bias) / np.exp(head_bias).sum()
    steep = np.abs(chances @ head - head[label])
    return PlantedNetwork(
        honest.first, (weights, biases), (head[:, np.argsort(-steep)], head_bias), shape.chosen
    )


def honest_layer(inputs: int, outputs: int, rng: Generator) -> Layer:
    """Draw a layer as PyTorch initialises it: uniform within 1 / sqrt(number of inputs)."""
    reach = 1 / np.sqrt(inputs)
    weights = rng.uniform(-reach, reach, (outputs, inputs)).astype(np.float32)
    return weights, rng.uniform(-reach, reach, outputs).astype(np.float32)
