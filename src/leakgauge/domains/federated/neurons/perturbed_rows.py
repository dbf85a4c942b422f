"""Rows perturbed as clients perturb them, and scores and neuron values at these rows."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Mechanism
from leakgauge.domains.federated.neurons.feature_distributions import ReluScore, TabulatedNoise
from leakgauge.domains.federated.neurons.network import CraftedNeuron, Floats, selected_features

CHUNK_ROWS = 256  # rows at a time, which fit into the cache of a processor
MAX_HELD_VALUES = 2**22  # numbers that are in memory at once


class PerturbedRows(Protocol):
    """Perturbed rows for which a score can be computed."""

    def scores(self, score: ReluScore) -> Reals: ...


@dataclass(frozen=True, eq=False)
class PerturbedLevelRows:
    """Rows of features with few levels; the contribution of each feature is looked up in a table."""

    levels: Reals
    places: npt.NDArray[np.uint16]  # features x rows

    def scores(self, score: ReluScore) -> Reals:
        table = score.function(self.levels).astype(np.float32)
        total = np.zeros(self.places.shape[1])
        for feature, row in zip(score.features, table):
            total += row[self.places[feature]]
        return total


@dataclass(frozen=True, eq=False)
class PerturbedRealRows:
    """Rows of real numbers."""

    rows: Floats

    def scores(self, score: ReluScore) -> Reals:
        weights = np.zeros((score.knots.size, self.rows.shape[1]), dtype=np.float32)
        weights[:, score.features] = score.weights.T
        knots, totals = score.knots.astype(np.float32), np.empty(len(self.rows))
        for low in range(0, len(self.rows), CHUNK_ROWS):
            rows = self.rows[low : low + CHUNK_ROWS]
            if score.clips:
                totals[low : low + CHUNK_ROWS] = (np.clip(rows, *knots) - knots[0]) @ weights[0]
            else:
                each = [np.maximum(rows - knot, 0) @ some for knot, some in zip(knots, weights)]
                totals[low : low + CHUNK_ROWS] = np.sum(each, axis=0, dtype=np.float64)
        return totals


def draw_perturbed_rows(
    rows: Floats, often: int, mechanism: Mechanism | None, rng: Generator
) -> PerturbedRows:
    """Perturb each row ``often`` times as clients do; without noise, return each row once."""
    if mechanism is None:
        return PerturbedRealRows(rows)
    drawn = mechanism.sample(_repeated(rows, often), rng)
    if isinstance(mechanism, TabulatedNoise):
        return PerturbedLevelRows(
            mechanism.encoding.levels, mechanism.encoding.places(drawn).T.astype(np.uint16, order="C")
        )
    return PerturbedRealRows(drawn.astype(np.float32))


def draw_perturbed_real_rows(
    rows: Floats, often: int, mechanism: Mechanism | None, rng: Generator
) -> PerturbedRows:
    """Perturb rows in the same way, and store them as numbers."""
    return PerturbedRealRows(perturb(rows, often, mechanism, rng))


def perturb(rows: Floats, often: int, mechanism: Mechanism | None, rng: Generator) -> Floats:
    """Return each row perturbed ``often`` times as clients do; without noise, each row once."""
    if mechanism is None:
        return rows
    return mechanism.sample(_repeated(rows, often), rng).astype(np.float32)


def _repeated(rows: Floats, often: int) -> Reals:
    return np.tile(rows.astype(np.float64), (often, 1))


def perturbed_values(
    crafted: CraftedNeuron, rows: Floats, often: int, mechanism: Mechanism | None, rng: Generator
) -> Reals:
    """Return the values at rows perturbed ``often`` times; without noise, at each row once."""
    return neuron_values(crafted, perturb(rows, often, mechanism, rng))


def neuron_values(crafted: CraftedNeuron, rows: Floats) -> Reals:
    """Return ``crafted.values`` of each row, in single precision as a client computes it.

    If no unit uses more than one feature, columns are selected instead of multiplying by the first layer.
    """
    step = max(1, MAX_HELD_VALUES // crafted.units)
    parts = [rows[first : first + step] for first in range(0, len(rows), step)]
    selection = selected_features((crafted.first, crafted.first_bias))
    if selection is None:
        return np.concatenate([crafted.values(part) for part in parts])
    values = [(selection(part) @ crafted.second).astype(np.float64) + crafted.bias for part in parts]
    return np.concatenate(values)
