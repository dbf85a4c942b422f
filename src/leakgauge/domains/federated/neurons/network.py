"""The network that the server sends: honest weights except a planted first layer and a few neurons."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals

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
class PlantedNetwork:
    """Three linear layers with ReLU in between; the first ``chosen`` neurons of the second are planted."""

    first: Layer
    second: Layer
    head: Layer
    chosen: int

    @property
    def layers(self) -> tuple[Layer, Layer, Layer]:
        return self.first, self.second, self.head


def plant_neuron(crafted: CraftedNeuron, shape: PlantedNetworkShape, rng: Generator) -> PlantedNetwork:
    """Return a network with the crafted weights, and all others drawn as an honest server would."""
    weights, biases = honest_layer(crafted.units, shape.neurons, rng)
    weights[: shape.chosen], biases[: shape.chosen] = crafted.second, crafted.bias
    head = honest_layer(shape.neurons, shape.classes, rng)
    return PlantedNetwork((crafted.first, crafted.first_bias), (weights, biases), head, shape.chosen)


def honest_layer(inputs: int, outputs: int, rng: Generator) -> Layer:
    """Draw a layer as PyTorch initialises it: uniform within 1 / sqrt(number of inputs)."""
    reach = 1 / np.sqrt(inputs)
    weights = rng.uniform(-reach, reach, (outputs, inputs)).astype(np.float32)
    return weights, rng.uniform(-reach, reach, outputs).astype(np.float32)
