"""A neuron for rows that nobody perturbs: its value is largest at the target itself."""

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.federated.model import Crafted, Floats
from leakgauge.domains.federated.thresholds import best_threshold


def peak(row: Floats, rows: Floats, others: int, units: int | None = None) -> Crafted:
    """The distance of a row from the target, in standard deviations of each feature, turned upside down.

    -|x - t| = (x - least) - 2 ReLU(x - t) + constant wherever x is at least ``least``: two units a feature.
    Any other row has a smaller value, and is told apart unless it comes nearer to the target than every row
    of the adversary's own (``rows``), from which the threshold is half the way. With few ``units``, the
    features in which the target stands out are kept.
    """
    spread = rows.std(axis=0, dtype=np.float64)
    spread = np.where(spread > 0, spread, max(float(spread.mean()), 1e-6))
    stands_out = np.abs(row - rows.mean(axis=0)) / spread
    kept = np.sort(np.argsort(-stands_out, kind="stable")[: max((units or 2 * row.size) // 2, 1)])
    least = np.minimum(rows.min(axis=0), row)[kept]
    weights = (1 / spread[kept]).astype(np.float32)
    first = np.zeros((2 * kept.size, row.size), dtype=np.float32)
    first[np.arange(2 * kept.size), np.tile(kept, 2)] = 1.0
    biases = -np.concatenate([least, row[kept]]).astype(np.float32)
    neuron = Crafted(first, biases, np.concatenate([weights, -2 * weights]), 0.0)
    own, scores = neuron.values(row[None]), _scores(neuron, rows)
    threshold, _ = best_threshold(own, scores, others)
    lowered = Crafted(neuron.first, neuron.first_bias, neuron.second, -threshold)
    return lowered.tamed(own - threshold, scores - threshold)


def _scores(neuron: Crafted, rows: Floats, step: int = 2_000) -> Reals:
    return np.concatenate([neuron.values(rows[first : first + step]) for first in range(0, len(rows), step)])
