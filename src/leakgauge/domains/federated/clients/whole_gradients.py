"""Clipped gradients of all weights of a network on a client's rows, without forming any of them.

An example's gradient in a linear layer is the outer product of what flows back into the layer and of its
inputs, with a 1 for the bias. Norms and projections follow from both (Goodfellow 2015).
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.domains.federated.clients import gradients
from leakgauge.domains.federated.clients.gradients import GradientNoise, Ints
from leakgauge.domains.federated.neurons.network import Floats, Layer, PlantedNetwork
from leakgauge.strategies import gradient_clipping


@dataclass(frozen=True, eq=False)
class LayerFlow:
    """What passes through a layer, one row for each example: inputs, and gradients of the outputs."""

    inputs: Floats
    flows: Floats

    def projections(self, direction: Layer) -> Reals:
        """Return the scalar product of each example's gradient with a direction."""
        found = np.zeros(len(self.flows))
        rows = np.flatnonzero(self.flows.any(axis=1))
        if rows.size:
            flows, (weights, biases) = self.flows[rows], direction
            found[rows] = np.vecdot(flows @ weights, self.inputs[rows]) + flows @ biases
        return found

    def squared_norm_of_sum(self) -> float:
        """Return the squared norm of the sum of all examples' gradients."""
        rows = np.flatnonzero(self.flows.any(axis=1))
        flows, inputs = (part[rows].astype(np.float64) for part in (self.flows, self.inputs))
        return max(float(np.sum((flows @ flows.T) * (inputs @ inputs.T + 1))), 0.0)


def layer_flows(network: PlantedNetwork, rows: Floats, labels: Ints) -> tuple[LayerFlow, ...]:
    """Return what passes through the three layers; the loss of each example is the cross-entropy."""
    hidden = network.hidden(rows)
    weights, biases = network.second
    active = np.maximum(hidden @ weights.T + biases, 0)
    errors = gradients.softmax_errors(active, network.head, labels)
    into_second = np.where(active > 0, errors @ network.head[0], np.float32(0))
    into_first = np.where(hidden > 0, into_second @ weights, np.float32(0))
    return LayerFlow(rows, into_first), LayerFlow(hidden, into_second), LayerFlow(active, errors)


def update_factor(layers: tuple[LayerFlow, ...], clip: float) -> float:
    """Return the factor that limits the norm of the mean gradient of all examples to ``clip``."""
    norm = np.sqrt(sum(layer.squared_norm_of_sum() for layer in layers)) / len(layers[0].inputs)
    return clip / max(float(norm), clip)


def clipped_answer(network: PlantedNetwork, rows: Floats, labels: Ints, noise: GradientNoise | None) -> Reals:
    """Return what the server reads of a client's mean gradient, clipped as ``noise`` says, without its noise.

    That is the gradient of the chosen neurons, or one number: the whole gradient in the network's direction.
    """
    if network.direction is not None:
        return np.array([_projected_gradient(network, rows, labels, noise)])
    if noise is None:
        return gradients.neuron_gradient(network, rows, labels)
    if noise.clipped == "update":
        factor = update_factor(layer_flows(network, rows, labels), noise.clip)
        return factor * gradients.neuron_gradient(network, rows, labels)
    return gradients.clipped_neuron_gradient(network, rows, labels, noise.clip) / len(rows)


def _projected_gradient(
    network: PlantedNetwork, rows: Floats, labels: Ints, noise: GradientNoise | None
) -> float:
    assert network.direction is not None
    layers = layer_flows(network, rows, labels)
    each = np.sum(
        [layer.projections(direction) for layer, direction in zip(layers, network.direction)], axis=0
    )
    if noise is None:
        return float(np.mean(each))
    if noise.clipped == "update":
        return update_factor(layers, noise.clip) * float(np.mean(each))
    norms = gradient_clipping.gradient_norms((layer.inputs, layer.flows) for layer in layers)
    return float(np.mean(gradient_clipping.clip_factors(norms, noise.clip) * each))


def draw_noise(
    network: PlantedNetwork, answer: Reals, noise: GradientNoise, batch: int, rng: Generator
) -> Reals:
    """Draw the noise on an answer: independent for every weight, so that a projection of it is normal."""
    return rng.normal(scale=noise.deviation(batch) * network.direction_norm, size=answer.shape)
