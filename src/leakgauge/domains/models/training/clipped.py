"""The sum of clipped gradients that a training step releases with noise: one pass forward, one back."""

import numpy as np

from leakgauge.domains.models.training.network import Ints, Network, layers
from leakgauge.strategies import clipping
from leakgauge.strategies.clipping import Floats


def passed(network: Network, rows: Floats, labels: Ints) -> list[tuple[Floats, Floats]]:
    """For each layer what comes in and what flows back from the cross-entropy, one row for each example."""
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


def clipped_sum(network: Network, rows: Floats, labels: Ints, clip: float) -> Floats:
    """The gradients of the rows, each clipped to a norm of ``clip``, added up (Abadi et al. 2016).

    In the order of the network's weights. No example's gradient is ever written out: ``strategies.clipping``.
    """
    layered = passed(network, rows, labels)
    scale = clipping.factors(clipping.norms(layered), clip)[:, None]
    return _summed(network, [(given, flow * scale) for given, flow in layered])


def plain_sum(network: Network, rows: Floats, labels: Ints) -> Floats:
    """The gradients of the rows as they are, added up."""
    return _summed(network, passed(network, rows, labels))


def _summed(network: Network, layered: list[tuple[Floats, Floats]]) -> Floats:
    total = np.empty_like(network.weights)
    for (matrix, biases), (given, flow) in zip(layers(network.shape, total), layered):
        np.matmul(flow.T, given, out=matrix)
        flow.sum(axis=0, out=biases)
    return total


def _softmax(logits: Floats) -> Floats:
    logits -= logits.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits
