"""The gradient that a client computes on its rows, with clipping and Gaussian noise."""

import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.federated.neurons.network import Floats, Layer, PlantedNetwork
from leakgauge.strategies import gradient_clipping
from leakgauge.theory import gdp

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class GradientNoise:
    """Clip gradients, and add Gaussian noise to their sum (Abadi et al. 2016; McMahan et al. 2018).

    What is ``clipped`` to a norm of ``clip`` is every "example" (DP-SGD), or the whole "update" of a client
    (local and central DP-FedAvg). The noise is ``added`` by every "client", or once to the "sum" of all
    clients, by whoever aggregates them. The promise is to a ``unit``: a record, or a whole client.

    ``sigma`` is in units of ``clip``. Without it, ``calibrate`` says how it follows from epsilon and delta,
    for a sum that one unit can change by ``clip``: "classic" is sqrt(2 ln(1.25 / delta)) / epsilon as in
    Nguyen et al. (appendix E) and in Flower, "analytic" the smallest one (Balle and Wang 2018).
    """

    epsilon: float | None = None
    delta: float = 0.01
    clip: float = 1.0
    sigma: float | None = None
    calibrate: Literal["classic", "analytic"] = "classic"
    clipped: Literal["example", "update"] = "example"
    added: Literal["client", "sum"] = "client"
    unit: Literal["record", "client"] = "record"

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise BadInput(f"delta must be in (0, 1), got {self.delta}")
        if not 0 < self.clip < math.inf:
            raise BadInput(f"clip must be > 0 and finite, got {self.clip}")
        if self.epsilon is None and self.sigma is None:
            raise BadInput("neither epsilon nor sigma is given; add epsilon = ...")
        given = self.epsilon if self.sigma is None else self.sigma
        if not (given is not None and 0 < given < math.inf and 0 < self.multiplier < math.inf):
            raise BadInput(f"epsilon and sigma must be > 0 and finite, got {given}")
        if self.unit == "client" and self.clipped == "example":
            raise BadInput(
                'unit = "client": clipping every example limits a record, not a client; '
                'add clipped = "update", or leave unit out'
            )

    @property
    def multiplier(self) -> float:
        """The standard deviation of the noise in units of ``clip``."""
        if self.sigma is not None:
            return self.sigma
        assert self.epsilon is not None
        if self.calibrate == "analytic":
            return gdp.sigma_for(self.epsilon, self.delta)
        return math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon

    def deviation(self, batch: int) -> float:
        """The standard deviation of the noise on the answer of a client, or on the sum of all answers.

        Clipped examples are averaged over the batch of the client; a clipped update is not divided.
        """
        return self.multiplier * self.clip / (batch if self.clipped == "example" else 1)

    def separation(self, iterations: int, clients: int = 1) -> float:
        """How far one unit that fills the bound moves the average of all answers, in standard deviations.

        This is the most that an attacker can gain who makes everybody else's gradient vanish. It is
        sqrt(iterations) / sigma; noise that each of several clients adds is in the average, too.
        """
        n_noises = clients if self.added == "client" else 1
        return math.sqrt(iterations / n_noises) / self.multiplier

    def guarantee(self, iterations: int) -> Guarantee:
        """Return the exact guarantee for replacing one unit, over all iterations.

        Replacing a row, or a client, changes the sum by up to twice the clip: where whole updates are
        clipped, a single row can fill the bound of its client.
        """
        mu = 2 * math.sqrt(iterations) / self.multiplier
        epsilon = gdp.epsilon_at(mu, self.delta)
        return Guarantee(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.REPLACE_ONE,
            unit=Unit(self.unit),
            sensitivity=2 * self.clip,
            nominal_epsilon=self.epsilon,
            nominal_unit=Unit(self.unit),
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
    """Return the gradient of the chosen neurons' weights and biases: neurons x (units + 1).

    The loss is the cross-entropy, averaged over the rows. A neuron that no row activates has a gradient of
    exactly zero. The gradients of the other weights are not needed and not computed, and neither are those of
    rows that activate no chosen neuron: they add nothing. What remains is a backward pass of a few rows.
    """
    (weights, biases), chosen = network.second, network.chosen
    gradient = np.zeros((chosen, weights.shape[1] + 1))
    hidden = network.hidden(rows)
    few = np.flatnonzero((hidden @ weights[:chosen].T + biases[:chosen] > 0).any(axis=1))
    if few.size:
        hidden = hidden[few]
        values = hidden @ weights.T + biases
        flow = (softmax_errors(np.maximum(values, 0), network.head, labels[few]) @ network.head[0])[
            :, :chosen
        ]
        flow = np.where(values[:, :chosen] > 0, flow, np.float32(0)) / np.float32(len(rows))
        gradient[:, :-1], gradient[:, -1] = flow.T @ hidden, flow.sum(axis=0)
    return gradient


def softmax_errors(active: Floats, head: Layer, labels: Ints) -> Floats:
    """Return the gradient of each example's cross-entropy with respect to its logits."""
    errors = active @ head[0].T + head[1]
    errors -= errors.max(axis=1, keepdims=True)
    np.exp(errors, out=errors)
    errors /= errors.sum(axis=1, keepdims=True)
    errors[np.arange(len(labels)), labels] -= 1
    return errors


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
