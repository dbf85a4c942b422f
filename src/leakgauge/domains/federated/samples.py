"""Perturbed rows, kept so that scores of them are quick to compute."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.game import Mechanism, Reals
from leakgauge.domains.federated.hinges import Score
from leakgauge.domains.federated.laws import Tabled
from leakgauge.domains.federated.model import Floats

PIECE = 256  # rows at a time: more would not stay near the processor


class Samples(Protocol):
    """Rows of which scores are asked."""

    def scores(self, score: Score) -> Reals: ...


@dataclass(frozen=True, eq=False)
class Leveled:
    """Features that take few levels: what each adds is looked up."""

    levels: Reals
    places: npt.NDArray[np.uint16]  # features x rows

    def scores(self, score: Score) -> Reals:
        table = score.function(self.levels).astype(np.float32)
        total = np.zeros(self.places.shape[1])
        for feature, row in zip(score.features, table):
            total += row[self.places[feature]]
        return total


@dataclass(frozen=True, eq=False)
class Plain:
    """Rows of any numbers."""

    rows: Floats

    def scores(self, score: Score) -> Reals:
        weights = np.zeros((score.knots.size, self.rows.shape[1]), dtype=np.float32)
        weights[:, score.features] = score.weights.T
        knots, found = score.knots.astype(np.float32), np.empty(len(self.rows))
        for low in range(0, len(self.rows), PIECE):
            rows = self.rows[low : low + PIECE]
            if score.clips:
                found[low : low + PIECE] = (np.clip(rows, *knots) - knots[0]) @ weights[0]
            else:
                each = [np.maximum(rows - knot, 0) @ some for knot, some in zip(knots, weights)]
                found[low : low + PIECE] = np.sum(each, axis=0, dtype=np.float64)
        return found


def samples_of(rows: Floats, often: int, mechanism: Mechanism | None, rng: Generator) -> Samples:
    """Perturb each row ``often`` times, as clients would; without noise once is as good."""
    if mechanism is None:
        return Plain(rows)
    drawn = mechanism.sample(_repeated(rows, often), rng)
    if isinstance(mechanism, Tabled):
        return Leveled(
            mechanism.encoding.levels, mechanism.encoding.places(drawn).T.astype(np.uint16, order="C")
        )
    return Plain(drawn.astype(np.float32))


def plain_samples_of(rows: Floats, often: int, mechanism: Mechanism | None, rng: Generator) -> Samples:
    """The same rows, kept as numbers."""
    return Plain(perturbed(rows, often, mechanism, rng))


def perturbed(rows: Floats, often: int, mechanism: Mechanism | None, rng: Generator) -> Floats:
    """Each row ``often`` times, as clients would perturb it; without noise once is as good."""
    if mechanism is None:
        return rows
    return mechanism.sample(_repeated(rows, often), rng).astype(np.float32)


def _repeated(rows: Floats, often: int) -> Reals:
    return np.tile(rows.astype(np.float64), (often, 1))
