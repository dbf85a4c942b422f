"""The gradient that a client computes on its rows, with clipping and Gaussian noise under DP-SGD."""

import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.federated.neurons.network import Floats, PlantedNetwork
from leakgauge.strategies import gradient_clipping
from leakgauge.theory import gdp

if TYPE_CHECKING:
    from torch import Tensor

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class GradientNoise:
    """Clip every example's gradient, and add Gaussian noise to their sum (Abadi et al. 2016).

    ``sigma`` is in units of ``clip``; its default is sqrt(2 ln(1.25 / delta)) / epsilon as in Nguyen et al.
    (appendix E). That formula is for a sum that one example can change by ``clip``.
    """

    epsilon: float | None = None
    delta: float = 0.01
    clip: float = 1.0
    sigma: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise BadInput(f"delta must be in (0, 1), got {self.delta}")
        if not 0 < self.clip < math.inf:
            raise BadInput(f"clip must be > 0 and finite, got {self.clip}")
        if self.epsilon is None and self.sigma is None:
            raise BadInput("neither epsilon nor sigma is given; add epsilon = ...")
        if not 0 < self.multiplier < math.inf:
            given = self.epsilon if self.sigma is None else self.sigma
            raise BadInput(f"epsilon and sigma must be > 0 and finite, got {given}")

    @property
    def multiplier(self) -> float:
        """The standard deviation of the noise in units of ``clip``."""
        if self.sigma is not None:
            return self.sigma
        assert self.epsilon is not None
        return math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon if self.epsilon > 0 else math.inf

    def guarantee(self, iterations: int) -> Guarantee:
        """Return the exact guarantee for replacing one row, over all iterations.

        Replacing a row changes the sum by up to twice the clip.
        """
        mu = 2 * math.sqrt(iterations) / self.multiplier
        epsilon = gdp.epsilon_at(mu, self.delta)
        return Guarantee(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.REPLACE_ONE,
            unit=Unit.RECORD,
            sensitivity=2 * self.clip,
            nominal_epsilon=self.epsilon,
            nominal_unit=Unit.RECORD,
            exact_epsilon=epsilon,
            curve=gdp.curve(mu),
        )


def require_torch() -> None:
    """Refuse an audit before it starts if torch is not installed."""
    try:
        installed = find_spec("torch") is not None
    except ImportError:
        installed = False
    if not installed:
        raise BadInput(
            "clients compute gradients with torch, which is not installed; run: pip install 'leakgauge[ml]'"
        )


def neuron_gradient(network: PlantedNetwork, rows: Floats, labels: Ints) -> Reals:
    """Return the gradient of the chosen neurons' weights and biases: neurons x (units + 1), by torch.

    The loss is the cross-entropy, averaged over the rows. A neuron that no row activates has a gradient of
    exactly zero. The gradients of the other weights are not needed and not computed.
    """
    import torch

    planted = [torch.from_numpy(part).requires_grad_() for part in network.second]
    logits = _logits(network, torch.from_numpy(rows), planted)
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels))
    weights, biases = torch.autograd.grad(loss, planted)
    chosen = torch.cat([weights, biases[:, None]], dim=1)[: network.chosen]
    return chosen.numpy().astype(np.float64)


def clipped_neuron_gradient(network: PlantedNetwork, rows: Floats, labels: Ints, clip: float) -> Reals:
    """Return the sum of per-example gradients clipped to a norm of ``clip``: chosen neurons x (units + 1).

    The norm is that of an example's whole gradient, which is never computed as such: see
    ``strategies.gradient_clipping``.
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
    layers = ((given.detach().numpy(), flow.numpy()) for given, flow in zip((inputs, hidden, active), back))
    factors = torch.from_numpy(gradient_clipping.clip_factors(gradient_clipping.gradient_norms(layers), clip))
    flow = (back[1] * factors[:, None])[:, : network.chosen].detach()
    weights, biases = flow.T @ hidden.detach(), flow.sum(0)
    return torch.cat([weights, biases[:, None]], dim=1).numpy().astype(np.float64)


def noisy_neuron_gradient(
    network: PlantedNetwork, rows: Floats, labels: Ints, noise: GradientNoise, rng: Generator
) -> Reals:
    """Return the mean gradient with clipped examples and Gaussian noise on the sum (Abadi et al. 2016)."""
    total = clipped_neuron_gradient(network, rows, labels, noise.clip)
    return (total + rng.normal(scale=noise.multiplier * noise.clip, size=total.shape)) / len(rows)


def _logits(network: PlantedNetwork, rows: "Tensor", second: "list[Tensor]") -> "Tensor":
    import torch

    linear = torch.nn.functional.linear
    hidden = torch.relu(linear(rows, *map(torch.from_numpy, network.first)))
    return linear(torch.relu(linear(hidden, *second)), *map(torch.from_numpy, network.head))
