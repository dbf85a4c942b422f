"""Optimizers: how a gradient updates the weights. Noise is added before: nothing here costs privacy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.strategies.gradient_clipping import Floats

OptimizerName: TypeAlias = Literal["adam", "sgd"]
WeightUpdate: TypeAlias = Callable[[Floats], None]  # one gradient; the weights change in place


class Optimizer(Protocol):
    """A rule that updates weights by one gradient after the other."""

    def updater(self, weights: Floats) -> WeightUpdate: ...


@dataclass(frozen=True, kw_only=True)
class Sgd:
    """Gradient descent: a step against the gradient (with noise: DP-SGD, Abadi et al. 2016)."""

    rate: float = 0.01

    def __post_init__(self) -> None:
        _require_rate(self.rate)

    def updater(self, weights: Floats) -> WeightUpdate:
        def update(gradient: Floats) -> None:
            weights[:] -= np.float32(self.rate) * gradient

        return update


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Steps by running means of gradients and of their squares (Kingma and Ba 2015, algorithm 1)."""

    rate: float = 0.01
    first: float = 0.9  # decay of the mean at each step
    second: float = 0.999  # decay of the mean square
    tiny: float = 1e-8

    def __post_init__(self) -> None:
        _require_rate(self.rate)
        for name in ("first", "second"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInput(f"adam: {name} must be in [0, 1), got {getattr(self, name)}")

    def updater(self, weights: Floats) -> WeightUpdate:
        mean, square, scratch = (np.zeros_like(weights) for _ in range(3))
        steps = 0

        def update(gradient: Floats) -> None:
            nonlocal steps
            steps += 1
            _decay(mean, gradient, self.first, scratch)
            np.multiply(gradient, gradient, out=scratch)
            _decay(square, scratch, self.second, scratch)
            np.divide(square, 1 - self.second**steps, out=scratch)
            np.sqrt(scratch, out=scratch)
            np.add(scratch, self.tiny, out=scratch)
            np.divide(mean, scratch, out=scratch)
            np.multiply(scratch, self.rate / (1 - self.first**steps), out=scratch)
            np.subtract(weights, scratch, out=weights)

        return update


OPTIMIZERS: Mapping[OptimizerName, type[Adam] | type[Sgd]] = {"adam": Adam, "sgd": Sgd}


def _decay(past: Floats, now: Floats, kept: float, scratch: Floats) -> None:
    np.multiply(now, 1 - kept, out=scratch)
    np.multiply(past, kept, out=past)
    np.add(past, scratch, out=past)


def _require_rate(rate: float) -> None:
    if not 0 < rate < np.inf:
        raise BadInput(f"rate must be > 0 and finite, got {rate}")
