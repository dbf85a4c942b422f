"""What a named mechanism promises to the target that makes the difference between two inputs."""

from dataclasses import replace
from typing import Protocol, runtime_checkable

from leakgauge.core.game import Mechanism, Reals
from leakgauge.core.guarantee import Guarantee, TradeoffCurve
from leakgauge.theory import tradeoff


@runtime_checkable
class HasCurve(Protocol):
    """A mechanism that knows the trade-off between two inputs, or at least between some."""

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None: ...


@runtime_checkable
class HasEpsilon(Protocol):
    """A mechanism that computes the epsilon between two inputs, at the delta of its guarantee."""

    def epsilon_between(self, low: Reals, high: Reals) -> float: ...


def guarantee_for_pair(mechanism: Mechanism, low: Reals, high: Reals) -> Guarantee:
    """Return the promise for one pair of inputs, computed from the noise distribution and not from the label.

    A mechanism protects a move of its sensitivity; a target who moves k values so far gets the composition
    over them, and one who moves less is protected better. The label is kept as the nominal epsilon. Of a
    mechanism that knows neither curve nor epsilon of a pair, the stated guarantee holds for all pairs.
    """
    stated = mechanism.guarantee
    curve = mechanism.curve(low, high) if isinstance(mechanism, HasCurve) else None
    if isinstance(mechanism, HasEpsilon):
        epsilon = mechanism.epsilon_between(low, high)
    else:
        epsilon = stated.epsilon if curve is None else tradeoff.epsilon_at(curve, stated.delta)
    return replace(stated, epsilon=epsilon, exact_epsilon=epsilon, curve=curve)
