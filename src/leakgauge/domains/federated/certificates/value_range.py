"""Bounds on the value of a crafted neuron over all rows in a box."""

from math import fsum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.federated.neurons.network import CraftedNeuron

UnitIndices: TypeAlias = npt.NDArray[np.intp]


def value_range(crafted: CraftedNeuron, low: Reals, high: Reals) -> tuple[float, float]:
    """Return bounds on the value over all rows in a box, one interval per feature; ends may be infinite.

    The range of all units of one feature is exact: their sum is piecewise linear in that feature, so its
    extremes are at a corner or at an end. For units of many features it is a bound, by intervals or by linear
    relaxation (Zhang et al. 2018), whichever is narrower.
    """
    used = crafted.first != 0
    single = used.sum(axis=1) == 1
    least, most = _range_of_many_features(crafted, ~single, low, high)
    for place, units in _units_by_feature(used, single):
        lower, upper = _range_of_one_feature(crafted, units, place, low[place], high[place])
        least, most = least + lower, most + upper
    return least + crafted.bias, most + crafted.bias


def _units_by_feature(used: Bits, single: Bits) -> list[tuple[int, UnitIndices]]:
    units = np.flatnonzero(single)
    features = used[units].argmax(axis=1) if units.size else units
    order = np.argsort(features, kind="stable")
    cuts = np.flatnonzero(np.diff(features[order])) + 1
    groups = [group for group in np.split(order, cuts) if group.size]
    return [(int(features[group[0]]), units[group]) for group in groups]


def _range_of_one_feature(
    crafted: CraftedNeuron, units: UnitIndices, place: int, low: float, high: float
) -> tuple[float, float]:
    """Return the exact range of the sum of the units of one feature."""
    slopes, biases, weights = (
        part.astype(np.float64)
        for part in (crafted.first[units, place], crafted.first_bias[units], crafted.second[units])
    )
    corners = np.clip(-biases / slopes, low, high)
    ends = [end for end in (low, high) if np.isfinite(end)]
    points = np.concatenate([corners, ends])
    values = np.maximum(np.outer(points, slopes) + biases, 0) @ weights
    least, most = float(values.min()), float(values.max())
    for direction, end in ((-1, low), (1, high)):
        if np.isinf(end):
            # fsum: slopes that cancel must sum to exactly zero.
            rise = fsum((direction * weights * slopes)[direction * slopes > 0])
            least, most = (least, np.inf) if rise > 0 else (-np.inf, most) if rise < 0 else (least, most)
    return least, most


def _range_of_many_features(
    crafted: CraftedNeuron, units: Bits, low: Reals, high: Reals
) -> tuple[float, float]:
    """Return bounds on the sum of units that use several features, or none."""
    matrix, biases, weights = (
        part[units].astype(np.float64) for part in (crafted.first, crafted.first_bias, crafted.second)
    )
    if not weights.any():
        return 0.0, 0.0
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return -np.inf, np.inf
    up, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
    lows, highs = up @ low + down @ high + biases, up @ high + down @ low + biases

    def most(weights: Reals) -> float:
        plain = float(np.maximum(weights * np.maximum(lows, 0), weights * np.maximum(highs, 0)).sum())
        # Above ReLU lies its chord; below it lie zero and the identity.
        chord = np.maximum(highs, 0) / np.maximum(highs - np.minimum(lows, 0), np.finfo(np.float64).tiny)
        below = np.where(lows >= 0, 1.0, (highs > -lows).astype(np.float64))
        slope = np.where(weights > 0, np.where(lows >= 0, 1.0, chord), below)
        lift = np.where((weights > 0) & (lows < 0), -chord * np.minimum(lows, 0), 0.0)
        line = (weights * slope) @ matrix
        straight = float(weights @ (slope * biases + lift) + np.maximum(line * low, line * high).sum())
        return min(plain, straight)

    return -most(-weights), most(weights)
