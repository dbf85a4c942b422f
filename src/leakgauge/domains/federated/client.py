"""An honest client: it computes the gradient of whatever model it is sent, on its own rows."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.federated.gradient_noise import GradientNoise
from leakgauge.domains.federated.model import Floats, Network
from leakgauge.strategies import clipping

if TYPE_CHECKING:
    from torch import Tensor

Ints = npt.NDArray[np.int64]


def gradient(network: Network, rows: Floats, labels: Ints) -> Reals:
    """Chosen neurons x (units + 1): the gradient of their weights and biases, by torch's autograd.

    The loss is the cross-entropy, averaged over the rows. A neuron that no row activates has a gradient of
    exactly zero. The gradients of the other weights, which nobody here looks at, are not computed.
    """
    import torch

    planted = [torch.from_numpy(part).requires_grad_() for part in network.second]
    logits = _logits(network, torch.from_numpy(rows), planted)
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels))
    weights, biases = torch.autograd.grad(loss, planted)
    found = torch.cat([weights, biases[:, None]], dim=1)[: network.chosen]
    return found.numpy().astype(np.float64)


def clipped_sum(network: Network, rows: Floats, labels: Ints, clip: float) -> Reals:
    """Chosen neurons x (units + 1): per-example gradients, clipped to a norm of ``clip`` and added up.

    The norm is that of an example's whole gradient, and no example's gradient is ever written out:
    ``strategies.clipping``.
    """
    import torch

    inputs, planted = torch.from_numpy(rows), [torch.from_numpy(part) for part in network.second]
    first = torch.nn.functional.linear(inputs, *map(torch.from_numpy, network.first)).requires_grad_()
    hidden = torch.relu(first)
    values = torch.nn.functional.linear(hidden, *planted)
    active = torch.relu(values)
    logits = torch.nn.functional.linear(active, *map(torch.from_numpy, network.head))
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels), reduction="sum")
    back = torch.autograd.grad(loss, [first, values, logits])
    passed = ((given.detach().numpy(), flow.numpy()) for given, flow in zip((inputs, hidden, active), back))
    factors = torch.from_numpy(clipping.factors(clipping.norms(passed), clip))
    flow = (back[1] * factors[:, None])[:, : network.chosen].detach()
    weights, biases = flow.T @ hidden.detach(), flow.sum(0)
    return torch.cat([weights, biases[:, None]], dim=1).numpy().astype(np.float64)


def noisy_gradient(
    network: Network, rows: Floats, labels: Ints, noise: GradientNoise, rng: Generator
) -> Reals:
    """The same gradient with every example clipped, and Gaussian noise on the sum (Abadi et al. 2016)."""
    total = clipped_sum(network, rows, labels, noise.clip)
    return (total + rng.normal(scale=noise.multiplier * noise.clip, size=total.shape)) / len(rows)


def _logits(network: Network, rows: "Tensor", second: "list[Tensor]") -> "Tensor":
    import torch

    linear = torch.nn.functional.linear
    hidden = torch.relu(linear(rows, *map(torch.from_numpy, network.first)))
    return linear(torch.relu(linear(hidden, *second)), *map(torch.from_numpy, network.head))
