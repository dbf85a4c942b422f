"""Vectors clipped to a length, with noise that hides which vector it was."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms import name_of
from leakgauge.mechanisms._additive import AdditiveNoise, Norm, moved_values
from leakgauge.mechanisms._validation import require_positive, require_whole


@dataclass(frozen=True, kw_only=True)
class ClippedVectors:
    """Shortens vectors, along the last axis, to a length of at most ``clip`` and adds noise to each entry.

    Two vectors are at most 2 clip apart, which is the sensitivity of the noise. The owner sends ``reports``
    of the same vector, with fresh noise each time, or ``memoised``: the first one again and again. Several
    reports lie along an axis in front of the entries.
    """

    epsilon: float | None = None
    clip: float = 1.0
    reports: int = 1
    memoised: bool = False
    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD

    norm: ClassVar[Norm]

    def __post_init__(self) -> None:
        require_positive(name_of(self), clip=self.clip)
        require_whole(name_of(self), "reports", self.reports, 1)
        require_positive(name_of(self), scale=self.noise.noise_scale)

    @property
    @abstractmethod
    def noise(self) -> AdditiveNoise:
        """The noise on every entry, for a sensitivity of 2 clip."""

    @property
    def sensitivity(self) -> float:
        """The distance of the two vectors that are farthest apart."""
        return 2 * self.clip

    @property
    def noise_scale(self) -> float:
        return self.noise.noise_scale

    @property
    def composed(self) -> int:
        """How many reports have noise of their own."""
        return 1 if self.memoised else self.reports

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for all reports together: one entry moved by 2 clip, in each of them."""
        stated = self.noise.guarantee
        if self.composed == 1:
            return stated
        moved = [(self.sensitivity, self.composed)]
        epsilon, best = self.noise.epsilon_at(moved, stated.delta), self.noise.best_attack(moved)
        return replace(
            stated, epsilon=epsilon, exact_epsilon=epsilon, curve=None if best is None else best.high
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        clipped = self.clipped(values)
        if self.reports == 1:
            return self.noise.sample(clipped, rng)
        drawn = self.noise.sample(np.repeat(clipped[..., None, :], self.composed, axis=-2), rng)
        return np.repeat(drawn, self.reports, axis=-2) if self.memoised else drawn

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density of the reports of each entry given the vector."""
        clipped = self.clipped(values)
        if self.reports == 1:
            return self.noise.log_law(outputs, clipped)
        law = self.noise.log_law(outputs, clipped[..., None, :])
        if not self.memoised:
            return law.sum(axis=-2)
        same = (outputs == outputs[..., :1, :]).all(axis=-2)
        return np.where(same, law[..., 0, :], -np.inf)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two vectors, never below the exact one."""
        best = self.noise.best_attack(self._moved(low, high))
        return None if best is None else best.high

    def epsilon_between(self, low: Reals, high: Reals) -> float:
        """Return an epsilon that holds between two vectors, at the delta of the guarantee."""
        return self.noise.epsilon_at(self._moved(low, high), self.noise.guarantee.delta)

    def require_range(self, values: Reals) -> float:
        """Return the share of values that clipping changes; here that is no fault."""
        return float(np.mean(self.clipped(values) != values))

    def clipped(self, values: Reals) -> Reals:
        """Shorten every vector to the clip."""
        vectors = np.asarray(values, dtype=np.float64)
        if vectors.ndim == 0:
            raise BadInput(f"{name_of(self)}: takes vectors, got one number; write [{float(vectors):g}]")
        if not np.isfinite(vectors).all():
            raise BadInput(f"{name_of(self)}: entries must be finite numbers, got one that is not")
        order = 1 if self.norm is Norm.L1 else 2
        lengths = np.linalg.norm(vectors, ord=order, axis=-1, keepdims=True)
        return np.asarray(vectors * (self.clip / np.maximum(lengths, self.clip)))

    def _moved(self, low: Reals, high: Reals) -> list[tuple[float, int]]:
        moved = moved_values(self.clipped(high) - self.clipped(low))
        return [(shift, n * self.composed) for shift, n in moved]
