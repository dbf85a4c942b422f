"""The guarantee of a named mechanism for one pair of inputs."""

from dataclasses import replace
from typing import Protocol, runtime_checkable

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee, TradeoffCurve
from leakgauge.theory import tradeoff


@runtime_checkable
class HasCurve(Protocol):
    """A mechanism with an exact trade-off curve for some or all pairs of inputs."""

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None: ...


@runtime_checkable
class HasEpsilon(Protocol):
    """A mechanism that computes the epsilon between two inputs, at the delta of its guarantee."""

    def epsilon_between(self, low: Reals, high: Reals) -> float: ...


def guarantee_for_pair(mechanism: Mechanism, low: Reals, high: Reals) -> Guarantee:
    """Return the promise for one pair of inputs, computed from the noise distribution and not from the label.

    A mechanism protects a change of its sensitivity. A target that changes k values by that much gets the
    composition over them, and one that changes them less is protected better. The label is kept as the
    nominal epsilon. A mechanism with neither curve nor epsilon of a pair keeps its stated guarantee.
    """
    stated = mechanism.guarantee
    curve = mechanism.curve(low, high) if isinstance(mechanism, HasCurve) else None
    if isinstance(mechanism, HasEpsilon):
        epsilon = mechanism.epsilon_between(low, high)
    else:
        epsilon = stated.epsilon if curve is None else tradeoff.epsilon_at(curve, stated.delta)
    return replace(stated, epsilon=epsilon, exact_epsilon=epsilon, curve=curve)
