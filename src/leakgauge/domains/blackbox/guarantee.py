"""What a named mechanism promises to the target that makes the difference between two inputs."""

from dataclasses import replace
from typing import Any

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee
from leakgauge.mechanisms import gaussian, geometric, laplace, randomized_response
from leakgauge.theory import gdp, tradeoff


def guarantee_for_pair(mechanism: Any, low: Reals, high: Reals) -> Guarantee:
    """Return the promise for one pair of inputs, computed from the law and not from the label.

    A mechanism protects a move of its sensitivity; a target who moves k values so far gets the composition
    over them, and one who moves less is protected better. The label is kept as the nominal epsilon.
    """
    stated: Guarantee = mechanism.guarantee
    curve = mechanism.curve(low, high)
    match mechanism:
        case laplace.Mechanism() | geometric.Mechanism() | randomized_response.Mechanism():
            epsilon = _epsilon_by_value(mechanism, low, high)
        case gaussian.Mechanism():
            epsilon = gdp.epsilon_at(gdp.compose((high - low) / mechanism.noise_scale), stated.delta)
        case _:
            epsilon = stated.epsilon if curve is None else tradeoff.epsilon_at(curve, stated.delta)
    return replace(stated, epsilon=epsilon, exact_epsilon=epsilon, curve=curve)


def _epsilon_by_value(mechanism: Any, low: Reals, high: Reals) -> float:
    """Add up the largest log ratio of each value, which these laws have at the two true values themselves."""
    here = mechanism.log_law(low, low) - mechanism.log_law(low, high)
    there = mechanism.log_law(high, high) - mechanism.log_law(high, low)
    return float(np.maximum(here, there).sum())
